"""Where proposals come from: the protocol, then one drafter a file."""
