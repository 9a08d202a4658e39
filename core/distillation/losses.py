"""How far a student's law is from the target's where only its largest parts are known.

The target's law at a place is given by its most probable tokens; all others are one
event, *the rest*. Both measures are exact for that coarser law, and never larger than
for the whole one.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

TINY = 1e-6  # below it a probability's logarithm says nothing more


@dataclass(frozen=True, slots=True)
class Places:
    """The target's law at n places.

    Attributes:
        rows: [n, kept] where the ids stand in the student's head; -1 where nowhere.
        target: [n, kept] their probabilities.
    """

    rows: Tensor
    target: Tensor

    def to(self, device: torch.device) -> Places:
        """Return the same on ``device``."""
        return Places(self.rows.to(device), self.target.to(device))

    def part(self, at: slice) -> Places:
        """Return some of the places."""
        return Places(self.rows[at], self.target[at])


def laws(logits: Tensor, places: Places) -> tuple[Tensor, Tensor]:
    """Return draft and target, each [n, kept + 1], the rest last."""
    known = places.rows >= 0
    draft = torch.softmax(logits.float(), dim=-1)  # [n, S]
    draft = draft.gather(1, places.rows.clamp(min=0)) * known
    return with_rest(draft), with_rest(places.target.float())


def with_rest(law: Tensor) -> Tensor:
    """Return [n, kept + 1]: ``law`` and what it lacks to 1, last."""
    rest = (1 - law.sum(-1, keepdim=True)).clamp(min=0)
    return torch.cat([law, rest], dim=-1)


def forward_kl(draft: Tensor, target: Tensor) -> Tensor:
    """Return the mean Kullback-Leibler divergence of the draft from the target.

    DistillSpec (arXiv:2310.08461), forward KL. Ids that the student cannot propose
    count as having a probability of ``TINY``.
    """
    ratio = target.clamp(min=TINY).log() - draft.clamp(min=TINY).log()
    return (target * ratio).sum(-1).mean()


def total_variation(draft: Tensor, target: Tensor) -> Tensor:
    """Return the mean total variation: one minus the chance of acceptance.

    DistillSpec (arXiv:2310.08461), section on total variation.
    """
    return 0.5 * (draft - target).abs().sum(-1).mean()


def mixed(draft: Tensor, target: Tensor, variation: float) -> Tensor:
    """Return the mean of total variation, weighed ``variation``, and forward KL."""
    kl, distance = forward_kl(draft, target), total_variation(draft, target)
    return (1 - variation) * kl + variation * distance


def acceptance(draft: Tensor, target: Tensor) -> Tensor:
    """Return [n] sums of min(draft, target) over the known tokens, without the rest.

    A lower bound of the chance that a proposal is accepted at temperature 1.
    """
    return torch.minimum(draft[:, :-1], target[:, :-1]).sum(-1)


def agreement(logits: Tensor, places: Places) -> Tensor:
    """Return [n] whether both sides' first choices are one: acceptance at T = 0."""
    return logits.argmax(-1) == places.rows[:, 0]
