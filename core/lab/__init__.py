"""Measuring and checking a pair: what it costs, and whether it is lossless."""
