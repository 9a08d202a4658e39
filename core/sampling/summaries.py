"""What a person may want to know of a distribution: its best tokens, its overlap.

These figures explain a round; no token depends on them.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import torch
from torch import Tensor

from core.sampling import kernels, streams
from core.sampling.acceptance import residual_distribution
from core.sampling.distributions import fit_width, softmax, spread
from core.sampling.draws import exponential_race


def largest(row: Tensor, count: int = kernels.TOP) -> list[tuple[int, float]]:
    """Return the ids and values of the largest of ``row`` [V], descending."""
    count = min(count, row.shape[-1])
    if row.device.type == "cpu" and kernels.AVAILABLE:
        ids, values = kernels.rows.largest(row.numpy(), count)
        return list(zip(ids.tolist(), values.tolist(), strict=True))
    best = row.topk(count)
    return list(zip(best.indices.tolist(), best.values.tolist(), strict=True))


Best = list[tuple[int, float]]  # ids and probabilities, descending


def most_probable(row: Tensor) -> Best:
    """Return the ids and probabilities of the best of ``row`` [V], zeros left out."""
    return [(i, p) for i, p in largest(row) if p > 0]


def most_probable_unwarped(scores: Tensor) -> Best:
    """Return the best of softmax(``scores`` [V]), zeros left out."""
    if not kernels.serve(scores):
        return most_probable(softmax(scores))
    count = min(kernels.TOP, scores.shape[-1])
    return _best(*kernels.rows.most_probable(scores.numpy(), count))


def _best(ids: np.ndarray, values: np.ndarray) -> Best:
    pairs = zip(ids.tolist(), values.tolist(), strict=True)
    return [(i, p) for i, p in pairs if p > 0]


class UnwarpedTops:
    """Finds the best of what draft and target thought, and of their residual.

    For temperature 0, where the laws that are drawn from say nothing. What it knows of
    the draft's ids is used again: they are the same from place to place.
    """

    def __init__(self) -> None:
        self._ids: Tensor | None = None
        self._shape = (0, 0)
        self._places = np.empty(0, np.int64)  # [n]
        self._outside = np.empty(0, np.bool_)  # [V]
        self._excess = np.empty(0, np.float32)  # [n]

    def __call__(
        self, draft: Tensor, ids: Tensor | None, target: Tensor
    ) -> tuple[Best, Best, Best]:
        """Return the best of draft, target and residual, zeros left out.

        Args:
            draft: [n] scores, n up to V.
            ids: [n] ids that they stand for; None where score i is that of id i.
            target: [V] scores.
        """
        width = target.shape[-1]
        if not kernels.serve(draft, target) or len(draft) > width:
            return _unwarped_in_torch(draft, ids, target)
        shape = len(draft), width
        if ids is not self._ids or shape != self._shape:
            self._learn(ids, *shape)
        found = kernels.rows.unwarped_tops(
            draft.numpy(),
            self._places,
            target.numpy(),
            min(kernels.TOP, width),
            self._outside,
            self._excess,
        )
        one, two, three = itertools.starmap(_best, zip(*found, strict=True))
        return one, two, three

    def _learn(self, ids: Tensor | None, count: int, width: int) -> None:
        if width == len(self._outside):
            self._outside[self._places] = True
        else:
            self._outside = np.ones(width, np.bool_)
        self._ids, self._shape = ids, (count, width)
        self._places = np.arange(count) if ids is None else ids.numpy()
        self._outside[self._places] = False
        self._excess = np.empty(count, np.float32)


def _unwarped_in_torch(
    draft: Tensor, ids: Tensor | None, target: Tensor
) -> tuple[Best, Best, Best]:
    width, law = target.shape[-1], softmax(draft).to(target.device)
    wide = fit_width(law, width) if ids is None else spread(law, ids, width, 0.0)
    thought = softmax(target)
    residual = residual_distribution(wide, thought)
    return most_probable(wide), most_probable(thought), most_probable(residual)


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
