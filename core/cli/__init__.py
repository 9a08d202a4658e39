"""The command line, one command a file; the proof that Qt is not needed."""
