"""The rounds, the race, and ids to text."""
