"""The loss of a student's output head and its gradient, in one walk over the scores.

The scores are the largest thing in teaching: [n, S] with thousands of columns. Autograd
would keep half a dozen tensors of that size and walk through each. Here a few rows at
a time become probabilities and then their own gradient, which is kept in bfloat16.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from core.distillation.losses import Places, mixed, with_rest

_ROWS = 128  # at a time, so that they stay in a core's cache


def head_loss(states: Tensor, head: Tensor, places: Places, variation: float) -> Tensor:
    """Return the mean loss of the laws that ``states`` have.

    Args:
        states: [n, hidden].
        head: [S, hidden].
        places: the target's law at the n places.
        variation: weight of total variation; forward KL has the rest.
    """
    return _HeadLoss.apply(states, head, places, variation)


class _HeadLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, states: Tensor, head: Tensor, places: Places, variation: float
    ) -> Tensor:
        kept, rows = states.bfloat16(), head.bfloat16()
        slopes = kept.new_empty((len(kept), len(rows)))  # [n, S]
        losses = [
            _walk(kept[at], rows, places.part(at), variation, slopes[at])
            for at in (slice(i, i + _ROWS) for i in range(0, len(kept), _ROWS))
        ]
        ctx.save_for_backward(slopes @ rows, slopes.T @ kept)
        ctx.share = 1 / len(kept)
        return torch.stack(losses).sum() * ctx.share

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor | None, ...]:
        by_states, by_head = ctx.saved_tensors
        share = slopes[0] * ctx.share
        return by_states.float() * share, by_head.float() * share, None, None


def _walk(
    states: Tensor, head: Tensor, places: Places, variation: float, slopes: Tensor
) -> Tensor:
    """Return the sum of the losses; write their derivatives by the scores to slopes.

    With a known id's probability d and the loss's derivative g by it (through the rest,
    too), the derivative by that id's score is d g, and by each score, minus its own
    probability times the sum of all d g.
    """
    draft = torch.softmax((states @ head.T).float(), dim=-1)  # [n, S]
    rows = places.rows.clamp(min=0)
    known = draft.gather(1, rows) * (places.rows >= 0)  # [n, kept]
    with torch.enable_grad():
        known.requires_grad_()
        law, target = with_rest(known), with_rest(places.target.float())
        loss = len(states) * mixed(law, target, variation)
        (by_known,) = torch.autograd.grad(loss, known)
    shares = by_known * known.detach()
    draft *= -shares.sum(-1, keepdim=True)
    slopes.copy_(draft.scatter_add_(1, rows, shares))
    return loss.detach()
