"""Llama-like models on a CPU: prompts by transformers, few rows by one kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from torch import Tensor
from transformers import PreTrainedModel

from core.events import ModelFacts
from core.runtime import decoder_weights, threads
from core.runtime.decoder_state import BlockLayer, new_state, sizes
from core.runtime.kernels.crew import crew
from core.runtime.kernels.decoder import REGIONS, State, Weights, decode
from core.runtime.kv_cache import RewindableCache
from core.runtime.runner import PREFILL_CHUNK, numbers
from core.runtime.transformers_model import (
    MAX_ROWS,
    Calling,
    TransformersRunner,
    no_room,
)


class DecoderModel:
    """Weights that the decoder kernel reads in place."""

    def __init__(
        self, module: PreTrainedModel, facts: ModelFacts, calling: Calling
    ) -> None:
        self._module = module
        self._facts = facts
        self._calling = calling
        self._weights = decoder_weights.read(module, calling.sliding)
        self._sizes = sizes(module, self._weights, calling.head_rows)

    @property
    def facts(self) -> ModelFacts:
        """What the model is and where it runs."""
        return self._facts

    def new_runner(self, capacity: int) -> DecoderRunner:
        """Return a runner with an empty cache for ``capacity`` tokens.

        Raises:
            DeviceMemoryError: if the cache does not fit.
        """
        team = crew().size
        try:
            state, logits = new_state(self._module, self._sizes, capacity, team)
        except (MemoryError, RuntimeError) as error:
            raise no_room(self._facts, capacity, self.cache_bytes(capacity)) from error
        cache = _cache(self._calling, state, capacity)
        prompts = TransformersRunner(self._module, self._calling, cache, capacity)
        return DecoderRunner(prompts, self._weights, state, logits, self._embeddings())

    def cache_bytes(self, capacity: int) -> int:
        """Return the memory that one runner's cache takes."""
        return self._sizes.cache_bytes(capacity)

    def _embeddings(self) -> np.ndarray:
        (weight,) = self._module.get_input_embeddings().parameters()
        return weight.detach().numpy()  # [vocabulary, hidden]


def _cache(calling: Calling, state: State, capacity: int) -> RewindableCache:
    return RewindableCache(
        [
            BlockLayer(state, layer, bool(slides), capacity)
            for layer, slides in enumerate(calling.sliding)
        ]
    )


class DecoderRunner:
    """One sequence over a :class:`DecoderModel`."""

    def __init__(
        self,
        prompts: TransformersRunner,
        weights: Weights,
        state: State,
        logits: Tensor,
        embeddings: np.ndarray,
    ) -> None:
        self._prompts = prompts  # keeps the module, and with it the weights, alive
        self._weights = weights
        self._state = state
        self._logits = logits
        self._embeddings = embeddings

    @property
    def length(self) -> int:
        """Tokens in the cache."""
        return self._prompts.length

    @property
    def capacity(self) -> int:
        """Tokens that the cache can hold."""
        return self._prompts.capacity

    def prefill(
        self, ids: Sequence[int], on_chunk: Callable[[int], bool] = lambda done: True
    ) -> bool:
        """Read ``ids`` into the cache; see :class:`core.runtime.runner.Runner`."""
        for start in range(0, len(ids), PREFILL_CHUNK):
            chunk = ids[start : start + PREFILL_CHUNK]
            if len(chunk) <= MAX_ROWS:
                self._decode(chunk, wanted=0)
            else:
                self._prompts.prefill(chunk)
            if not on_chunk(start + len(chunk)):
                return False
        return True

    def step(self, ids: Sequence[int] | Tensor) -> Tensor:
        """Append ``ids`` (1 to 17) and return their [n, V] float32 logits."""
        ids = numbers(ids)
        assert 1 <= len(ids) <= MAX_ROWS, f"a step takes 1 to {MAX_ROWS} ids"
        self._decode(ids, wanted=len(ids))
        return self._logits[: len(ids)]

    def truncate(self, length: int) -> None:
        """Forget all tokens after the first ``length``; nothing is copied."""
        self._prompts.truncate(length)

    def _decode(self, ids: Sequence[int], wanted: int) -> None:
        start, rows = self.length, len(ids)
        end = start + rows
        assert end <= self.capacity, f"{end} tokens in a cache for {self.capacity}"
        threads.torch_alone()
        np.take(self._embeddings, ids, axis=0, out=self._state.hidden[:rows])
        regions = REGIONS * len(self._weights.matrices) + 1
        crew().run(decode, regions, self._weights, self._state, start, rows, wanted)
        self._prompts.extend(end)
