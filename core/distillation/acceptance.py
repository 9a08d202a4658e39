"""What a student's proposals would be worth, on the target's own held-out texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from core.distillation.lessons import (
    Lesson,
    batches,
    padded,
    places,
    states_at_places,
)
from core.distillation.losses import acceptance, agreement, laws
from core.distillation.student import Student

_BATCH_IDS = 8192


@dataclass(frozen=True, slots=True)
class Judgement:
    """Chances that a proposal is accepted, teacher-forced over held-out texts.

    Attributes:
        acceptance: at temperature 1, mean of the sums of min(draft, target); a lower
            bound, since the target's rarest tokens are not known.
        agreement: at temperature 0, how often both first choices are one; over the
            texts that were themselves drawn at 0.
        tokens: places judged.
    """

    acceptance: float
    agreement: float
    tokens: int


@torch.inference_mode()
def judge(student: Student, held_out: Sequence[Lesson]) -> Judgement:
    """Return what the student's proposals would be worth."""
    device = student.eval().head.device
    head_places = student.places.cpu()
    accepted: list[Tensor] = []
    agreed: list[Tensor] = []
    for group in batches(held_out, _BATCH_IDS, seed=0):
        states = states_at_places(student(padded(group).to(device)), group)
        logits = student.logits(states).float()
        known = places(group, head_places).to(device)
        greedy = torch.cat(
            [torch.full((x.num_tokens,), x.temperature == 0) for x in group]
        )
        accepted.append(acceptance(*laws(logits, known)).cpu())
        agreed.append(agreement(logits, known).cpu()[greedy])
    all_accepted, all_agreed = torch.cat(accepted), torch.cat(agreed).float()
    return Judgement(
        acceptance=float(all_accepted.mean()),
        agreement=float(all_agreed.mean()) if len(all_agreed) else 0.0,
        tokens=len(all_accepted),
    )
