"""Making a small draft for a target: its own answers, a student, a card."""
