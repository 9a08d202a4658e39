"""The mathematics: pure functions on tensors."""
