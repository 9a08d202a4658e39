"""A transformers model whose steps are recorded: CUDA's fast path.

A small model's step is hundreds of kernels that Python launches one by one; a replayed
graph is one launch. Untested on a GPU so far: the tests run the same code on a CPU.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from transformers import PreTrainedModel

from core.events import ModelFacts
from core.runtime.captured_graphs import Recorder, recorder_for
from core.runtime.kv_cache import LayerShape
from core.runtime.runner import PREFILL_CHUNK
from core.runtime.slot import OnFraction, Slot
from core.runtime.slot_sizes import GRAPH_BYTES, SMALLEST, slot_rows, slot_tokens
from core.runtime.transformers_model import MAX_ROWS, Calling, no_room

SPARES = 2  # slots kept for the next run: a race needs two
# How allocators say it; the one of a CPU has no error class of its own.
_NO_MEMORY = ("out of memory", "not enough memory", "allocate memory")


class NotRecordedError(Exception):
    """The steps of a model are not recorded; its text says why, fit for people."""


class CapturedModel:
    """Weights whose steps are recorded, a slot for each sequence.

    Args:
        module: the transformers model.
        facts: of it.
        calling: how to call it.
        shapes: per layer what it writes into the cache.
        recorder: records the steps; None for the one that suits the device.
        smallest: tokens of the smallest slot.

    Raises:
        NotRecordedError: if its layers lie on several devices.

    Attributes:
        note: a sentence for whoever loads it.
    """

    def __init__(
        self,
        module: PreTrainedModel,
        facts: ModelFacts,
        calling: Calling,
        shapes: Sequence[LayerShape | None],
        recorder: Recorder | None = None,
        smallest: int = SMALLEST,
    ) -> None:
        device = next(module.parameters()).device
        if len({shape.device for shape in shapes if shape}) > 1:
            raise NotRecordedError("its layers lie on several devices")
        self._module, self._facts, self._calling = module, facts, calling
        self._shapes = tuple(shapes)
        self._recorder = recorder or recorder_for(device)
        self._smallest = smallest
        self._spare: list[Slot] = []
        self.note = ""

    @property
    def facts(self) -> ModelFacts:
        """What the model is and where it runs."""
        return self._facts

    def new_runner(self, capacity: int) -> CapturedRunner:
        """Return a runner with an empty cache; its steps are recorded already.

        Raises:
            DeviceMemoryError: if the cache does not fit.
        """
        try:
            slot = self._take(self._rounded(capacity))
        except RuntimeError as error:
            if not is_memory_error(error):
                raise
            raise no_room(self._facts, capacity, self.cache_bytes(capacity)) from error
        runner = CapturedRunner(slot, capacity)
        weakref.finalize(runner, self._give_back, slot).atexit = False
        return runner

    def cache_bytes(self, capacity: int) -> int:
        """Return the memory that a runner takes: its cache, and its graphs on a GPU."""
        return self._slot_bytes(self._rounded(capacity))

    def _slot_bytes(self, tokens: int) -> int:
        each = sum(shape.bytes_per_token() for shape in self._shapes if shape)
        graphs = GRAPH_BYTES if self._facts.device.startswith("cuda") else 0
        return slot_rows(tokens) * each + graphs

    @property
    def spare_bytes(self) -> int:
        """The memory of slots that the next run takes over or that make room for it."""
        return sum(self._slot_bytes(slot.capacity) for slot in self._spare)

    def _rounded(self, capacity: int) -> int:
        return slot_tokens(capacity, self._facts.context_length, self._smallest)

    def prepare(self, on_fraction: OnFraction) -> None:
        """Record the steps of one slot, so that the first run need not."""
        self._spare.append(self._new_slot(self._rounded(1), on_fraction))

    def _take(self, capacity: int) -> Slot:
        fitting = [slot for slot in self._spare if slot.capacity == capacity]
        if fitting:
            self._spare.remove(fitting[0])
            fitting[0].clear()
            return fitting[0]
        self._spare.clear()  # make room before more is asked for
        return self._new_slot(capacity)

    def _new_slot(
        self, capacity: int, on_fraction: OnFraction = lambda fraction: None
    ) -> Slot:
        model = self._module, self._calling, self._shapes, self._facts
        return Slot(*model, capacity, self._recorder, on_fraction)

    def _give_back(self, slot: Slot) -> None:
        """Keep a slot that is no longer used; recording again would cost a second."""
        if len(self._spare) < SPARES:
            self._spare.append(slot)


def is_memory_error(error: Exception) -> bool:
    """Return whether an allocator had nothing left to give."""
    if isinstance(error, torch.OutOfMemoryError):
        return True
    return any(words in str(error) for words in _NO_MEMORY)


class CapturedRunner:
    """One sequence over a :class:`CapturedModel`."""

    def __init__(self, slot: Slot, capacity: int) -> None:
        self._slot, self._capacity, self._length = slot, capacity, 0

    @property
    def length(self) -> int:
        """Tokens in the cache."""
        return self._length

    @property
    def capacity(self) -> int:
        """Tokens that the cache can hold."""
        return self._capacity

    def prefill(
        self, ids: Sequence[int], on_chunk: Callable[[int], bool] = lambda done: True
    ) -> bool:
        """Read ``ids`` into the cache; see :class:`core.runtime.runner.Runner`."""
        for start in range(0, len(ids), PREFILL_CHUNK):
            chunk = ids[start : start + PREFILL_CHUNK]
            begin = self._grow(len(chunk))
            self._slot.read(chunk, begin)
            if not on_chunk(start + len(chunk)):
                return False
        return True

    def step(self, ids: Sequence[int] | Tensor) -> Tensor:
        """Append ``ids`` (1 to 17) and return their [n, V] float32 logits.

        Args:
            ids: numbers, or [n] int64 that lie on the device and are not read.
        """
        assert 1 <= len(ids) <= MAX_ROWS, f"a step takes 1 to {MAX_ROWS} ids"
        return self._slot.step(ids, self._grow(len(ids)))

    def _grow(self, count: int) -> int:
        """Count ``count`` more tokens; return where they begin."""
        begin, end = self._length, self._length + count
        assert end <= self._capacity, f"{end} tokens in a cache for {self._capacity}"
        self._length = end
        return begin

    def truncate(self, length: int) -> None:
        """Forget all tokens after the first ``length``; nothing is copied."""
        assert 0 <= length <= self._length, f"cannot keep {length} of {self._length}"
        self._length = length
