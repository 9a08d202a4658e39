"""Our attention under a name that transformers knows.

SDPA chooses its blocking by the number of queries, so a row's sums would depend on the
rows beside it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import eager_mask

from core.runtime.kernels.crew import crew
from core.runtime.kernels.row_attention import attend_rows
from core.runtime.transformers_model import MAX_ROWS

NAME = "draftrace_rows"


class RowAttention:
    """The attention function, counting how often the kernel served."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(
        self,
        module: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attention_mask: Tensor | None,
        scaling: float | None = None,
        softcap: float | None = None,
        s_aux: Tensor | None = None,
        **kwargs: object,
    ) -> tuple[Tensor, None]:
        """Attend as transformers' interface asks.

        Args:
            module: the attention layer.
            query: [1, heads, rows, width].
            key: [1, kv_heads, keys, width].
            value: [1, kv_heads, keys, value_width].
            attention_mask: [1, 1 or heads, rows, keys] added to the scores, or None
                when each row sees all keys up to its own.
            scaling: of the scores; None for 1 / sqrt(width).
            softcap: bends the scores towards this limit.
            s_aux: [heads] scores of a key without a value.
            **kwargs: what else a model hands over; wrapping a model compares results.

        Returns:
            [1, rows, heads, value_width], and no weights.
        """
        scale = scaling if scaling is not None else query.shape[3] ** -0.5
        mask = attention_mask if attention_mask is not None else _causal(query, key)
        if query.shape[2] > MAX_ROWS:
            return _many(query, key, value, mask, scale, softcap, s_aux), None
        self.calls += 1
        return _few(query, key, value, mask, scale, softcap, s_aux), None


ROW_ATTENTION = RowAttention()
AttentionInterface.register(NAME, ROW_ATTENTION)
AttentionMaskInterface.register(NAME, eager_mask)


def _causal(query: Tensor, key: Tensor) -> Tensor:
    rows, keys = query.shape[2], key.shape[2]
    hidden = torch.ones(rows, keys, dtype=torch.bool).triu(keys - rows + 1)
    mask = torch.zeros(rows, keys).masked_fill_(hidden, torch.finfo(torch.float32).min)
    return mask[None, None]  # [1, 1, rows, keys]


def _few(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor,
    scale: float,
    softcap: float | None,
    sinks: Tensor | None,
) -> Tensor:
    heads, rows = query.shape[1], query.shape[2]
    out = np.empty((rows, heads, value.shape[3]), dtype=np.float32)
    if mask.dtype == torch.bool:
        low = torch.finfo(torch.float32).min
        mask = torch.zeros(mask.shape).masked_fill_(~mask, low)
    arguments = (
        query[0].contiguous().numpy(),
        _rows_contiguous(key[0]),
        _rows_contiguous(value[0]),
        mask[0, :, :, : key.shape[2]].contiguous().numpy(),
        np.float32(scale),
        np.float32(softcap or 0.0),
        sinks.detach().numpy() if sinks is not None else np.zeros(0, np.float32),
        out,
    )
    crew().run(attend_rows, 1, *arguments)
    return torch.from_numpy(out)[None]  # [1, rows, heads, value_width]


def _rows_contiguous(states: Tensor) -> np.ndarray:
    return (states if states.stride(2) == 1 else states.contiguous()).numpy()


def _many(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor,
    scale: float,
    softcap: float | None,
    sinks: Tensor | None,
) -> Tensor:
    group = query.shape[1] // key.shape[1]
    key, value = key.repeat_interleave(group, 1), value.repeat_interleave(group, 1)
    if softcap is None and sinks is None:
        out = functional.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, scale=scale
        )
        return out.transpose(1, 2).contiguous()
    scores = query @ key.transpose(2, 3) * scale  # [1, heads, rows, keys]
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    scores = scores + mask
    if sinks is not None:
        column = sinks.view(1, -1, 1, 1).expand(-1, -1, query.shape[2], 1)
        shares = torch.cat([scores, column], -1).softmax(-1)[..., :-1]
    else:
        shares = scores.softmax(-1)
    return (shares @ value).transpose(1, 2).contiguous()
