"""What a person watches; one widget a file."""
