"""What a checkpoint is, whether a pair fits, and how it is loaded."""
