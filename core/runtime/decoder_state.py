"""The memory of one sequence over the decoder kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from core.runtime.kernels.attention import BLOCK, CHUNK
from core.runtime.kernels.decoder import State, Weights
from core.runtime.kernels.products import chunk_rows
from core.runtime.kv_cache import BufferLayer
from core.runtime.transformers_model import MAX_ROWS


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of a decoder.

    Attributes:
        layers: decoder layers.
        hidden: width of the rows between them.
        kv_heads: heads of keys and values.
        group: heads of queries that share one of those.
        width: of a head.
        inner: width between gate and down.
        logits: rows of the head that are computed.
    """

    layers: int
    hidden: int
    kv_heads: int
    group: int
    width: int
    inner: int
    logits: int

    def cache_bytes(self, capacity: int) -> int:
        """Return the memory that the keys and values of ``capacity`` tokens take."""
        return 2 * 4 * self.layers * self.kv_heads * self.width * padded(capacity)


def padded(capacity: int) -> int:
    """Return ``capacity`` in whole blocks of keys."""
    return -(-capacity // BLOCK) * BLOCK


def sizes(module: Any, weights: Weights, head_rows: int) -> Sizes:
    """Return the sizes of ``module``."""
    attention = module.model.layers[0].self_attn
    width = attention.head_dim
    kv_heads = attention.k_proj.weight.shape[0] // width
    return Sizes(
        layers=len(weights.matrices),
        hidden=len(weights.last_norm),
        kv_heads=kv_heads,
        group=attention.q_proj.weight.shape[0] // width // kv_heads,
        width=width,
        inner=weights.inner,
        logits=min(head_rows, module.lm_head.weight.shape[0]),
    )


def new_state(
    module: Any, size: Sizes, capacity: int, threads: int
) -> tuple[State, Tensor]:
    """Allocate the cache for ``capacity`` tokens and the scratch memory of a step.

    Returns:
        The memory as the kernel sees it, and its logits [MAX_ROWS, V] as a tensor.
    """
    positions = padded(capacity)
    chunks, rows = -(-positions // CHUNK), MAX_ROWS * size.group
    logits = torch.empty((MAX_ROWS, size.logits), dtype=torch.float32)
    attended = size.kv_heads * size.group * size.width
    part = max(size.width, chunk_rows.py_func(size.hidden))
    blocks = (size.layers, size.kv_heads, positions // BLOCK, size.width, BLOCK)
    # The cache first: where there is no room for it nothing else is worth making.
    keys, values = _zeros(*blocks), _zeros(*blocks[:2], positions, size.width)
    cos, sin = _rotary(module, positions)
    state = State(
        keys=keys,
        values=values,
        cos=cos,
        sin=sin,
        hidden=_zeros(MAX_ROWS, size.hidden),
        queries=_zeros(size.kv_heads, rows, size.width),
        partial=_zeros(size.kv_heads, chunks, rows, size.width),
        peaks=_zeros(size.kv_heads, chunks, rows),
        sums=_zeros(size.kv_heads, chunks, rows),
        inner=_zeros(MAX_ROWS, size.inner),
        inputs=_zeros(threads, MAX_ROWS, max(size.hidden, attended)),
        parts=_zeros(threads, 2, MAX_ROWS, part),
        scores=_zeros(threads, rows, CHUNK),
        logits=logits.numpy(),
    )
    return state, logits


def _zeros(*shape: int) -> np.ndarray:
    # Zeros cost nothing until they are touched, and what attention multiplies with a
    # zero share must be finite.
    return np.zeros(shape, dtype=np.float32)


def _rotary(module: Any, positions: int) -> tuple[np.ndarray, np.ndarray]:
    places = torch.arange(positions)[None]  # [1, positions]
    with torch.inference_mode():
        cos, sin = module.model.rotary_emb(torch.zeros(1), position_ids=places)
    return cos[0].numpy().copy(), sin[0].numpy().copy()  # [positions, width]


class BlockLayer(BufferLayer):
    """A layer of the kernel's cache as transformers sees it while it reads a prompt."""

    def __init__(self, state: State, layer: int, is_sliding: bool, capacity: int):
        super().__init__(capacity, is_sliding)
        self._blocks = torch.from_numpy(state.keys[layer])  # [kv, blocks, width, 16]
        self._values = torch.from_numpy(state.values[layer])  # [kv, positions, width]
        self.is_initialized = True

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: object, **kwargs: object
    ) -> tuple[Tensor, Tensor]:
        """Append states and return all that count; see :class:`BufferLayer`."""
        end = self.length + key_states.shape[2]
        assert end <= self.capacity, f"{end} tokens in a cache for {self.capacity}"
        places = torch.arange(self.length, end)
        rows = key_states[0].transpose(0, 1)  # [n, kv, width]
        self._blocks[:, places // BLOCK, :, places % BLOCK] = rows
        self._values[:, self.length : end] = value_states[0]
        self.length = end
        keys = self._blocks[:, : -(-end // BLOCK)].transpose(2, 3)
        keys = keys.flatten(1, 2)[None, :, :end]  # [1, kv, end, width]
        return keys, self._values[None, :, :end]
