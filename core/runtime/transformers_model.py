"""Any transformers causal LM with a cache that can be rewound, on any device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from core.errors import DeviceMemoryError
from core.events import ModelFacts
from core.runtime import threads
from core.runtime.kv_cache import LayerShape, RewindableCache, buffers
from core.runtime.runner import PREFILL_CHUNK

MAX_ROWS = 17  # the last token and sixteen proposals


@dataclass(frozen=True, slots=True)
class Calling:
    """How to call a transformers model.

    Attributes:
        cache_argument: the name under which it takes the cache.
        keeps_last_logits: it can leave out all logits but the last row's.
        sliding: per layer, whether it slides; None for a layer without a cache.
        head_rows: rows of logits to return, from the first.
        few_rows_alone: give torch one thread for few rows, since kernels use the cores.
    """

    cache_argument: str
    keeps_last_logits: bool
    sliding: tuple[bool | None, ...]
    head_rows: int
    few_rows_alone: bool = False


class TransformersModel:
    """Weights inside a transformers module.

    Attributes:
        note: a sentence for whoever loads it; empty as a rule.
    """

    def __init__(
        self,
        module: PreTrainedModel,
        facts: ModelFacts,
        calling: Calling,
        shapes: Sequence[LayerShape | None],
    ) -> None:
        self._module = module
        self._facts = facts
        self._calling = calling
        self._shapes = tuple(shapes)
        self.note = ""

    @property
    def facts(self) -> ModelFacts:
        """What the model is and where it runs."""
        return self._facts

    def new_runner(self, capacity: int) -> TransformersRunner:
        """Return a runner with an empty cache for ``capacity`` tokens.

        Raises:
            DeviceMemoryError: if the cache does not fit.
        """
        try:
            cache = buffers(capacity, self._calling.sliding, self._shapes)
        except (torch.OutOfMemoryError, RuntimeError) as error:
            raise no_room(self._facts, capacity, self.cache_bytes(capacity)) from error
        return TransformersRunner(self._module, self._calling, cache, capacity)

    def cache_bytes(self, capacity: int) -> int:
        """Return the memory that one runner's cache takes."""
        return capacity * sum(s.bytes_per_token() for s in self._shapes if s)


def no_room(facts: ModelFacts, capacity: int, needed: int) -> DeviceMemoryError:
    """Return the error that says that a cache does not fit."""
    return DeviceMemoryError(
        f"A cache for {capacity} tokens of {facts.name} needs {needed / 2**20:.0f} "
        f"MiB, more than {facts.device} has free; ask for fewer tokens or close other "
        "programs.",
        needed=needed,
        capacity=capacity,
    )


class TransformersRunner:
    """One sequence over a :class:`TransformersModel`."""

    def __init__(
        self,
        module: PreTrainedModel,
        calling: Calling,
        cache: RewindableCache,
        capacity: int,
    ) -> None:
        self._module = module
        self._calling = calling
        self._cache = cache
        self._capacity = capacity
        self._length = 0
        self._device = next(module.get_input_embeddings().parameters()).device
        self._logits: Tensor | None = None

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
            self._forward(chunk, last_only=True)
            if not on_chunk(start + len(chunk)):
                return False
        return True

    def step(self, ids: Sequence[int] | Tensor) -> Tensor:
        """Append ``ids`` (1 to 17) and return their [n, V] float32 logits.

        Args:
            ids: numbers, or [n] int64 that lie on the device and are not read.
        """
        assert 1 <= len(ids) <= MAX_ROWS, f"a step takes 1 to {MAX_ROWS} ids"
        rows = self._forward(ids, last_only=False)
        return self._keep(rows[:, : self._calling.head_rows])

    def truncate(self, length: int) -> None:
        """Forget all tokens after the first ``length``; nothing is copied."""
        assert 0 <= length <= self._length, f"cannot keep {length} of {self._length}"
        self._cache.truncate(length)
        self._length = length

    def extend(self, length: int) -> None:
        """Count tokens that somebody else wrote into the cache."""
        self._cache.truncate(length)
        self._length = length

    @torch.inference_mode()
    def _forward(self, ids: Sequence[int] | Tensor, last_only: bool) -> Tensor:
        end = self._length + len(ids)
        assert end <= self._capacity, f"{end} tokens in a cache for {self._capacity}"
        self._set_threads(len(ids))
        options: dict[str, Any] = {self._calling.cache_argument: self._cache}
        if last_only and self._calling.keeps_last_logits:
            options["logits_to_keep"] = 1
        if isinstance(ids, Tensor):
            tokens = ids[None]  # [1, n]
        else:
            tokens = torch.tensor([list(ids)], device=self._device)
        output = self._module(input_ids=tokens, use_cache=True, **options)
        self._length = end
        threads.torch_alone()
        return output.logits[0]  # [n or 1, V]

    def _set_threads(self, rows: int) -> None:
        if self._calling.few_rows_alone and rows <= MAX_ROWS:
            threads.torch_alone()
        else:
            threads.torch_on_all_cores()

    def _keep(self, rows: Tensor) -> Tensor:
        # A tensor born in inference mode cannot be changed outside of it; ours can.
        if self._logits is None:
            self._logits = torch.empty(
                (MAX_ROWS, rows.shape[1]), dtype=torch.float32, device=rows.device
            )
        kept = self._logits[: len(rows)]  # [n, V]
        kept.copy_(rows)
        return kept
