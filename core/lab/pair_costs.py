"""What the steps of a loaded pair cost: measured once, in a second or two.

A draft's step is timed in a loop, where its weights may lie in the caches; in a round
the target's have pushed them out. What that costs is part of a round's own work, as is
all else beside the steps: see :mod:`core.lab.round_costs`. All figures are medians; a
slow pair is measured less often, not longer.
"""

from __future__ import annotations

from dataclasses import replace

from core.checkpoints.loading import LoadedModel
from core.events import StepCosts
from core.lab.round_costs import NewDrafter, RoundCosts, ShouldStop
from core.lab.step_costs import step_costs, token_cost

# Each width up to 9: kernels take rows in blocks, so that four may cost more than five.
TARGET_ROWS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 17)
READ_ROWS = 16  # a draft that missed tokens reads them in steps as wide as this
DRAFT_ROWS = (1, 2, READ_ROWS)
CONTEXT = 64  # tokens in the cache before each step
STEPS = 5  # timed steps of each width, if the budget allows
STEPS_MS = 900.0
FAR, FAR_ROWS = 384, 9  # a longer context, and the width that shows what it costs
FAR_STEP_MS = 100.0  # a slower target is not made to read it
BRIEF_STEPS = 2  # where they are timed once more
DRAFT_STEPS = 20  # of a draft: after the target's the first ones find cold caches


def measure_costs(
    target: LoadedModel,
    draft: LoadedModel | None,
    new_drafter: NewDrafter,
    should_stop: ShouldStop = lambda: False,
) -> StepCosts | None:
    """Return the step costs of a pair; None when stopped.

    Args:
        target: the loaded target.
        draft: the loaded draft; None for a drafter without weights.
        new_drafter: makes a drafter for a capacity from the draft's model.
        should_stop: asked between steps and rounds.
    """
    steps = _steps(target, TARGET_ROWS, should_stop)
    reading = {1: 0.0}
    if draft is not None:
        reading = _reading(target, draft, steps, DRAFT_ROWS, should_stop)
    rounds = RoundCosts(target, draft, new_drafter, reading.get(1, 0.0), should_stop)
    greedy, sampled = rounds.overhead(0.0), rounds.overhead(1.0)
    if should_stop() or not steps or not reading:
        return None
    widest = max(reading)
    context, target_token, draft_token = _attention(target, draft, steps, should_stop)
    return StepCosts(
        rows=tuple(steps),
        target_ms=tuple(steps.values()),
        draft_ms=reading[1],
        draft_two_rows_ms=reading.get(2, reading[1]),
        draft_read_ms=reading[widest] / widest,
        greedy=greedy,
        sampled=sampled,
        context=context,
        target_token_ms=target_token,
        draft_token_ms=draft_token,
    )


def _attention(
    target: LoadedModel,
    draft: LoadedModel | None,
    steps: dict[int, float],
    should_stop: ShouldStop,
) -> tuple[int, float, float]:
    """Return the context of the steps, and what a token more costs a row of each.

    Nothing where a model has no longer context, or where reading one would hold up the
    load.
    """
    both = [loaded.model for loaded in (target, draft) if loaded]
    shortest = min(model.facts.context_length for model in both)
    if shortest < FAR + FAR_ROWS or steps[1] > FAR_STEP_MS:
        return 0, 0.0, 0.0
    found = [
        token_cost(model, rows, CONTEXT, FAR, should_stop)
        for model, rows in zip(both, (FAR_ROWS, 1), strict=False)
    ]
    return CONTEXT, found[0], found[1] if draft else 0.0


def time_steps(
    known: StepCosts,
    target: LoadedModel,
    draft: LoadedModel | None,
    should_stop: ShouldStop = lambda: False,
) -> StepCosts | None:
    """Return the costs with the steps timed anew, quickly; None when stopped.

    Args:
        known: the pair's, whose rounds' own work stays.
        target: the loaded target.
        draft: the loaded draft; None for a drafter without weights.
        should_stop: asked between steps.
    """
    steps = _steps(target, TARGET_ROWS, should_stop, repeats=BRIEF_STEPS)
    reading = {1: 0.0}
    if draft is not None:
        reading = _reading(target, draft, steps, DRAFT_ROWS[:1], should_stop)
    if should_stop() or not steps or not reading:
        return None
    times = tuple(steps.values())
    return replace(known, target_ms=times, draft_ms=reading[1])


def _reading(
    target: LoadedModel,
    draft: LoadedModel,
    steps: dict[int, float],
    rows: tuple[int, ...],
    should_stop: ShouldStop,
) -> dict[int, float]:
    """Return the draft's milliseconds by rows; ``steps`` are the target's.

    A target that drafts for itself steps as it does: timed apart, the noise of a busy
    machine could make it seem to win.
    """
    if draft is target:
        return steps
    return _steps(draft, rows, should_stop, repeats=DRAFT_STEPS)


def _steps(
    loaded: LoadedModel,
    rows: tuple[int, ...],
    should_stop: ShouldStop,
    repeats: int = STEPS,
) -> dict[int, float]:
    """Return the milliseconds of a step by rows, as far as the context has room."""
    room = loaded.model.facts.context_length
    widths = [n for n in rows if n == 1 or 2 * n <= room]
    context = min(CONTEXT, room - max(widths))
    return step_costs(
        loaded.model,
        widths,
        context=context,
        repeats=repeats,
        budget_ms=STEPS_MS,
        should_stop=should_stop,
    )
