"""How a model steps, as the rounds see it.

A model holds weights; a runner holds one sequence's cache over them. Several runners
may share one model (the two lanes of a race do). Truncating moves an integer; it never
copies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from torch import Tensor

from core.events import ModelFacts

PREFILL_CHUNK = 512  # between two chunks a run can be cancelled


def numbers(ids: Sequence[int] | Tensor) -> Sequence[int]:
    """Return ``ids`` as Python numbers; a tensor is read."""
    return ids.tolist() if isinstance(ids, Tensor) else ids


class Runner(Protocol):
    """One model stepping over one sequence, with a cache of its own."""

    @property
    def length(self) -> int:
        """Tokens in the cache."""
        ...

    @property
    def capacity(self) -> int:
        """Tokens that the cache can hold."""
        ...

    def prefill(
        self, ids: Sequence[int], on_chunk: Callable[[int], bool] = lambda done: True
    ) -> bool:
        """Read ``ids`` into the cache, in chunks of ``PREFILL_CHUNK``.

        Args:
            ids: the tokens after those already in the cache; may be empty.
            on_chunk: called with the number of tokens read so far, after each chunk;
                returns False to stop there.

        Returns:
            True when all were read.
        """
        ...

    def step(self, ids: Sequence[int] | Tensor) -> Tensor:
        """Append ``ids`` (1 to 17) and return their logits.

        Args:
            ids: numbers, or [n] int64 on the runner's device, which a runner on a GPU
                does not read.

        Returns:
            [len(ids), V] float32 logits on the runner's device, one row for each id,
            valid until the next call. V is at least the tokenizer's vocabulary or,
            for a draft, the rows that its head has.
        """
        ...

    def truncate(self, length: int) -> None:
        """Forget all tokens after the first ``length``; nothing is copied."""
        ...


class Model(Protocol):
    """Loaded weights that runners step over."""

    @property
    def facts(self) -> ModelFacts:
        """What the model is and where it runs."""
        ...

    def new_runner(self, capacity: int) -> Runner:
        """Return a runner with an empty cache for ``capacity`` tokens."""
        ...

    def cache_bytes(self, capacity: int) -> int:
        """Return the memory that one runner's cache takes."""
        ...
