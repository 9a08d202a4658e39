"""The modified rejection rule of Chen et al. 2023 (arXiv:2302.01318), Algorithm 2.

The paper writes q for the target and p for the draft; here they are spelled out. All
functions take leading batch dimensions.
"""

from __future__ import annotations

import torch
from torch import Tensor

from core.errors import VocabularyMismatchError
from core.sampling import kernels


def accepts(uniform: Tensor, draft: Tensor, target: Tensor) -> Tensor:
    """Return whether proposals survive: u * draft < target, strictly.

    As a product, so that a draft probability of 0 needs no division; strictly, so that
    a token that the target cannot emit is refused even at u = 0.

    Args:
        uniform: [...] numbers in [0, 1).
        draft: [...] draft probability of each proposed token.
        target: [...] target probability of each proposed token.

    Returns:
        [...] bool.
    """
    return uniform * draft < target


def acceptance_probability(draft: float, target: float) -> float:
    """Return min(1, target / draft) of a proposed token.

    Args:
        draft: draft probability of the token.
        target: target probability of the token.

    Returns:
        A probability; where draft is 0 it is 1 if the target can emit it, else 0.
    """
    if target >= draft:
        return float(target > 0)
    return target / draft


def residual_distribution(
    draft: Tensor, target: Tensor, memory: Tensor | None = None
) -> Tensor:
    """Return the distribution to draw from after a refusal: norm((target - draft)+).

    Args:
        draft: [..., V] probabilities that the refused token was drawn from.
        target: [..., V] probabilities of the target at that place.
        memory: like ``target``, which may be used for the result.

    Returns:
        [..., V] probabilities; ``target`` itself where the two agree, so never NaN.

    Raises:
        VocabularyMismatchError: if the widths differ.
    """
    if draft.shape[-1] != target.shape[-1]:
        raise VocabularyMismatchError(
            f"Draft and target rows have {draft.shape[-1]} and {target.shape[-1]} ids; "
            "cut both to the tokenizer's vocabulary first."
        )
    if kernels.serve(draft, target) and target.dim() == 1:
        weights = torch.empty(target.shape) if memory is None else memory  # [V]
        kernels.rows.residual(draft.numpy(), target.numpy(), weights.numpy())
        return weights
    positive = (target - draft).clamp(min=0)  # [..., V]
    mass = positive.sum(-1, keepdim=True)  # [..., 1]
    return torch.where(
        mass > 0, positive / mass.clamp(min=torch.finfo(mass.dtype).tiny), target
    )


def surviving_places(accepted: Tensor) -> Tensor:
    """Return how many proposals stand before the first refusal.

    Args:
        accepted: [..., K] bool, each place judged on its own.

    Returns:
        [...] int64, 0 to K.
    """
    return accepted.long().cumprod(-1).sum(-1)
