"""What a model proves about itself when it is wrapped, in a handful of steps."""

from __future__ import annotations

import torch
from torch import Tensor

from core.runtime.runner import Model

_ROWS = 5
TOLERANCE = 1e-3  # of the largest logit; far above rounding, far below a wrong sum


def sample_ids(vocabulary_size: int) -> list[int]:
    """Return a few ids spread over the vocabulary."""
    return [(7919 * i + 1) % vocabulary_size for i in range(_ROWS)]


def together(model: Model, ids: list[int]) -> Tensor:
    """Return the [n, V] logits of ``ids`` in one step on a fresh runner."""
    return model.new_runner(2 * len(ids)).step(ids).clone()


def agree(ours: Tensor, theirs: Tensor, tolerance: float = TOLERANCE) -> bool:
    """Return whether two sets of logits are the same but for rounding.

    Args:
        ours: [n, V].
        theirs: [n, V].
        tolerance: how far they may differ, as a share of the largest logit.
    """
    scale = max(1.0, float(theirs.abs().max()))
    return bool((ours - theirs).abs().max() <= tolerance * scale)


def rewinds(model: Model, ids: list[int], loose: bool) -> bool:
    """Return whether a token that was taken back leaves no trace.

    Args:
        model: to step.
        ids: at least three tokens.
        loose: allow the rounding of a narrow dtype.
    """
    runner = model.new_runner(2 * len(ids))
    runner.step(ids[:1])
    wanted = runner.step(ids[1:2]).clone()
    runner.step(ids[2:])
    runner.truncate(1)
    scale = max(1.0, float(wanted.abs().max()))
    limit = (0.1 if loose else TOLERANCE) * scale
    return bool((runner.step(ids[1:2]) - wanted).abs().max() <= limit)


def rows_stand_alone(model: Model, ids: list[int]) -> bool:
    """Return whether each row's bits are the same alone, in pairs and all at once."""
    everything = together(model, ids)
    for width in (1, 2):
        runner = model.new_runner(2 * len(ids))
        parts = [ids[i : i + width] for i in range(0, len(ids), width)]
        rows = [runner.step(part).clone() for part in parts]
        if not torch.equal(torch.cat(rows), everything):
            return False
    return True
