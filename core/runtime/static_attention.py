"""Attention over a static cache, without a copy of it.

SDPA under a mask needs as many key heads as query heads, and repeating them writes the
whole cache several times over. Here the queries that share a key head are its rows.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import eager_mask

from core.runtime.transformers_model import MAX_ROWS

NAME = "draftrace_static"


class StaticAttention:
    """The attention function, counting how often it served."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(
        self,
        module: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attention_mask: Tensor,
        scaling: float | None = None,
        softcap: float | None = None,
        s_aux: Tensor | None = None,
        **kwargs: Any,
    ) -> tuple[Tensor, None]:
        """Attend as transformers' interface asks.

        Args:
            module: the attention layer.
            query: [1, heads, rows, width].
            key: [1, kv_heads, keys, width].
            value: [1, kv_heads, keys, value_width].
            attention_mask: [1, 1, rows, keys] added to the scores.
            scaling: of the scores; None for 1 / sqrt(width).
            softcap: bends the scores towards this limit.
            s_aux: [heads] scores of a key without a value.
            **kwargs: what else a model hands over; wrapping a model compares results.

        Returns:
            [1, rows, heads, value_width], and no weights.
        """
        self.calls += 1
        scale = scaling if scaling is not None else query.shape[3] ** -0.5
        plain = softcap is None and s_aux is None
        if (
            plain and query.shape[2] > MAX_ROWS
        ):  # a prompt: its scores would fill memory
            mask = attention_mask.to(query.dtype)
            return sdpa_attention_forward(
                module, query, key, value, mask, scaling=scale
            )
        return _grouped(query, key, value, attention_mask, scale, softcap, s_aux), None


STATIC_ATTENTION = StaticAttention()
AttentionInterface.register(NAME, STATIC_ATTENTION)
AttentionMaskInterface.register(NAME, eager_mask)


def _scores(query: Tensor, key: Tensor) -> Tensor:
    """Return [kv_heads, rows, keys] products in float32, as SDPA keeps them."""
    if query.device.type == "cuda" and query.dtype != torch.float32:
        return torch.bmm(query, key.transpose(1, 2), out_dtype=torch.float32)
    return torch.bmm(query, key.transpose(1, 2)).float()


def _grouped(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor,
    scale: float,
    softcap: float | None,
    sinks: Tensor | None,
) -> Tensor:
    _, heads, rows, width = query.shape
    kv_heads, keys = key.shape[1:3]
    group = heads // kv_heads
    grouped = query.reshape(1, kv_heads, group * rows, width)
    scores = _scores(grouped[0], key[0]) * scale  # [kv_heads, group * rows, keys]
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    scores = scores.view(1, kv_heads, group, rows, keys) + mask[:, :, None]
    if sinks is not None:
        lone = sinks.view(1, kv_heads, group, 1, 1).expand(-1, -1, -1, rows, 1)
        scores = torch.cat([scores, lone], -1)  # [1, kv, group, rows, keys + 1]
    shares = scores.softmax(-1)[..., :keys].to(value.dtype)
    out = shares.reshape(1, kv_heads, group * rows, keys) @ value
    out = out.view(1, heads, rows, value.shape[3])
    return out.transpose(1, 2).contiguous()  # [1, rows, heads, value_width]
