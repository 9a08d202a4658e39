"""What a person may want to know of a distribution: its best tokens, its overlap.

These figures explain a round; no token depends on them.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from core.sampling import kernels, streams
from core.sampling.draws import exponential_race


def largest(row: Tensor, count: int = kernels.TOP) -> list[tuple[int, float]]:
    """Return the ids and values of the largest of ``row`` [V], descending."""
    count = min(count, row.shape[-1])
    if row.device.type == "cpu" and kernels.AVAILABLE:
        ids, values = kernels.rows.largest(row.numpy(), count)
        return list(zip(ids.tolist(), values.tolist(), strict=True))
    best = row.topk(count)
    return list(zip(best.indices.tolist(), best.values.tolist(), strict=True))


def most_probable(row: Tensor) -> list[tuple[int, float]]:
    """Return the ids and probabilities of the best of ``row`` [V], zeros left out."""
    return [(i, p) for i, p in largest(row) if p > 0]


def compare(draft: Tensor, target: Tensor, key: int) -> tuple[float, float, bool]:
    """Compare two distributions of one place.

    Args:
        draft: [V] probabilities.
        target: [V] probabilities.
        key: stream key of the target's noise at that place.

    Returns:
        Sum of min(draft, target), sum of draft * target, and whether the same noise
        picks the same token from both.
    """
    if target.device.type == "cpu" and kernels.AVAILABLE:
        rows = draft.numpy(), target.numpy()
        return kernels.draws.compare(*rows, streams.signed_key(key))
    overlap = torch.minimum(draft, target).double().sum()
    product = (draft.double() * target.double()).sum()
    keys = torch.tensor(streams.signed_key(key), device=target.device).expand(2)
    winners = exponential_race(torch.stack([draft, target]), keys)[0].tolist()
    return float(overlap), float(product), winners[0] == winners[1]


def near_tie_tolerance(best: float, dtype: str) -> float:
    """Return the gap of logits below which rounding alone may swap two tokens.

    Four units in the last place of the best logit in half precision; float32 sums
    thousands of products, so there a few hundred units are lost before the logits.

    Args:
        best: the larger of the two logits.
        dtype: of the model that returned them.
    """
    bits, units = {"bfloat16": (7, 4), "float16": (10, 4)}.get(dtype, (23, 256))
    _, exponent = math.frexp(max(1.0, abs(best)))
    return units * 2.0 ** (exponent - 1 - bits)
