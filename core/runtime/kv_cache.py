"""A cache for transformers models that is written in place and rewound by an integer.

transformers' own sliding layers keep a ring of the last tokens, which cannot be rewound
past its edge. Here every layer keeps all tokens; the window of a sliding layer is in
the mask, which transformers builds from ``is_sliding`` and ``get_mask_sizes``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import cache_utils
from transformers.cache_utils import Cache, CacheLayerMixin


@dataclass(frozen=True, slots=True)
class LayerShape:
    """What one layer writes for each token.

    Attributes:
        key: (heads, width) of the keys.
        value: (heads, width) of the values.
        dtype: of both.
        device: where the layer runs.
    """

    key: tuple[int, int]
    value: tuple[int, int]
    dtype: torch.dtype
    device: torch.device

    def bytes_per_token(self) -> int:
        """Return the memory that one token takes in this layer."""
        return (math.prod(self.key) + math.prod(self.value)) * self.dtype.itemsize


class BufferLayer(CacheLayerMixin):
    """One layer's keys and values in preallocated memory.

    Attributes:
        length: tokens that count; what lies behind them is stale.
        shape: what this layer writes; found at the first write if not given.
    """

    is_croppable = True

    def __init__(
        self, capacity: int, is_sliding: bool, shape: LayerShape | None = None
    ) -> None:
        super().__init__()
        self.capacity = capacity
        self.is_sliding = is_sliding
        self.length = 0
        self.shape = shape
        if shape is not None:
            self._allocate(shape)

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Take the shapes from the first states that are written."""
        self.shape = LayerShape(
            (key_states.shape[1], key_states.shape[3]),
            (value_states.shape[1], value_states.shape[3]),
            key_states.dtype,
            key_states.device,
        )
        self._allocate(self.shape)

    def _allocate(self, shape: LayerShape) -> None:
        def empty(heads: int, width: int) -> Tensor:
            size = (1, heads, self.capacity, width)
            return torch.empty(size, dtype=shape.dtype, device=shape.device)

        self.keys, self.values = empty(*shape.key), empty(*shape.value)
        self.is_initialized = True

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: object, **kwargs: object
    ) -> tuple[Tensor, Tensor]:
        """Append states and return all that count.

        Args:
            key_states: [1, heads, n, width] of the new tokens.
            value_states: [1, heads, n, width] of the new tokens.
            *args: ignored.
            **kwargs: ignored.

        Returns:
            [1, heads, length + n, width] keys and values; views of the buffers.
        """
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        assert self.keys is not None
        assert self.values is not None
        end = self.length + key_states.shape[2]
        assert end <= self.capacity, f"{end} tokens in a cache for {self.capacity}"
        self.keys[:, :, self.length : end] = key_states
        self.values[:, :, self.length : end] = value_states
        self.length = end
        return self.keys[:, :, :end], self.values[:, :, :end]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Return how many keys the mask must cover, and the first one's position."""
        return self.length + query_length, 0

    def get_seq_length(self) -> int:
        """Return the number of tokens that count."""
        return self.length

    def get_max_length(self) -> int:
        """Return the number of tokens that fit."""
        return self.capacity


class RewindableCache(Cache):
    """All layers of one sequence; see :func:`buffers` for how to make one."""

    def __init__(self, layers: Sequence[CacheLayerMixin]) -> None:
        super().__init__(layers=list(layers))

    def truncate(self, length: int) -> None:
        """Forget all tokens after the first ``length``."""
        for layer in self.layers:
            if isinstance(layer, BufferLayer):
                layer.length = length

    def shapes(self) -> list[LayerShape | None]:
        """Return what each layer wrote; None where nothing was written."""
        return [getattr(layer, "shape", None) for layer in self.layers]


def buffers(
    capacity: int,
    sliding: Sequence[bool | None],
    shapes: Sequence[LayerShape | None] | None = None,
) -> RewindableCache:
    """Return an empty cache.

    Args:
        capacity: tokens that fit.
        sliding: per layer, whether it slides; None for a layer without a cache.
        shapes: per layer what it writes; None finds out at the first write.
    """
    known = shapes or [None] * len(sliding)
    return RewindableCache(
        [
            no_layer() if slides is None else BufferLayer(capacity, slides, shape)
            for slides, shape in zip(sliding, known, strict=True)
        ]
    )


def no_layer() -> CacheLayerMixin:
    """Return the cache of a layer that has none."""
    # transformers before 5.18 has no kind of its own; a buffer that is never written
    # takes no memory either.
    dummy: Any = getattr(cache_utils, "DummyLayer", None)
    return dummy() if dummy else BufferLayer(0, False)
