"""Step costs that are written down, and a clock that counts them."""

from __future__ import annotations

from core.events import RoundOverhead, StepCosts

TARGET_MS = 20.0


def step_costs(ratio: float = 0.13, read: float = 0.17) -> StepCosts:
    """Return the costs of a pair as it runs on two cores.

    Args:
        ratio: a step of the draft over one of the target.
        read: a token that the draft catches up with over its own step.
    """
    draft = ratio * TARGET_MS
    return StepCosts(
        rows=(1, 2, 3, 5, 9, 17),
        target_ms=(20.0, 20.6, 21.2, 23.0, 27.0, 36.0),
        draft_ms=draft,
        draft_two_rows_ms=1.05 * draft,
        draft_read_ms=read * draft,
        greedy=RoundOverhead(1.0, 0.3),
        sampled=RoundOverhead(2.0, 0.5),
    )
