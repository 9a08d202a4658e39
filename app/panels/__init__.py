"""What a person sets."""
