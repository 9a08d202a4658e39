"""What recorded steps take, told without torch: the window asks before it is loaded."""

from __future__ import annotations

SMALLEST = 1024  # tokens of a slot; longer sequences take 2,048, 4,096 and so on
MOST_ROWS = 17  # of a step; the last one's padding needs room
ALIGNED = 64  # matrix units want whole blocks of keys
# What a slot's graphs take: six executables of a few hundred kernels each, and the pool
# that their intermediate values share. A guess until somebody can measure it.
GRAPH_BYTES = 64 << 20


def slot_tokens(capacity: int, context_length: int, smallest: int = SMALLEST) -> int:
    """Return the tokens of the slot that serves a run of ``capacity`` tokens.

    Args:
        capacity: tokens that the run may reach.
        context_length: of the model; no slot is longer.
        smallest: tokens of the smallest slot.
    """
    size = smallest
    while size < capacity:
        size *= 2
    return max(capacity, min(size, context_length))


def slot_rows(tokens: int) -> int:
    """Return the rows of keys that a slot of ``tokens`` keeps in every layer."""
    return -(-(tokens + MOST_ROWS) // ALIGNED) * ALIGNED
