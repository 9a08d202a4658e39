"""Qt item models over plain data."""
