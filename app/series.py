"""Fixed-size ring buffers behind the plots. No Qt."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MAX_DRAWN = 600  # points: what a plot shows of a series, however long it is

Array = NDArray[np.float64]


class RingBuffer:
    """The last ``capacity`` rows of numbers, readable as arrays without a copy.

    Every row is written twice, half the buffer apart, so that the latest rows always
    lie side by side in memory.
    """

    def __init__(self, capacity: int = 4096, columns: int = 2) -> None:
        self.capacity = capacity
        self._rows = np.zeros((columns, 2 * capacity))
        self._written = 0

    def __len__(self) -> int:
        return min(self._written, self.capacity)

    def append(self, *values: float) -> None:
        """Add one row; the oldest goes once the buffer is full."""
        at = self._written % self.capacity
        self._rows[:, at] = values
        self._rows[:, at + self.capacity] = values
        self._written += 1

    def column(self, index: int) -> Array:
        """Return one column, oldest first; valid until the next append."""
        end = self._written % self.capacity
        if self._written < self.capacity:
            return self._rows[index, :end]
        return self._rows[index, end : end + self.capacity]

    def clear(self) -> None:
        """Forget all rows."""
        self._written = 0


def thin(x: Array, y: Array, limit: int = MAX_DRAWN) -> tuple[Array, Array]:
    """Return at most ``limit`` points that keep the peaks of a longer series.

    Each stretch gives its lowest and its highest point, in the order they came.
    """
    if len(x) <= limit:
        return x, y
    size = -(-len(y) // ((limit - 1) // 2))
    whole = len(y) // size * size
    blocks = y[:whole].reshape(-1, size)
    starts = np.arange(0, whole, size)
    ends = np.stack([blocks.argmin(axis=1), blocks.argmax(axis=1)]) + starts
    picks = np.unique(np.append(ends, len(y) - 1))  # the newest is always shown
    return x[picks], y[picks]


def ceiling(value: float) -> float:
    """Return a round number at or above ``value``, for the top of an axis."""
    if value <= 0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(value))
    steps = (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)
    return float(next((s * power for s in steps if s * power >= value), 10 * power))


class SteadyRange:
    """The top of an axis that moves only when it must, so that curves do not jump."""

    def __init__(self, smallest: float = 1.0) -> None:
        self._smallest = smallest
        self.top = smallest

    def reset(self) -> None:
        """Begin again."""
        self.top = self._smallest

    def fit(self, highest: float) -> float:
        """Return a top with room for ``highest``: grown at need, shrunk when idle."""
        needed = max(self._smallest, ceiling(highest * 1.1))
        if needed > self.top or needed < self.top / 2:
            self.top = needed
        return self.top
