"""What the steps of a loaded pair cost: measured once, in a second or two.

The rounds that tell a round's own work are real ones of the speculative lane, on a
made-up prompt: their time without the models' steps is what judging, drawing and
recording take. All figures are medians; a slow pair is measured less often, not longer.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from statistics import median
from typing import Any

from core.checkpoints.loading import LoadedModel
from core.config import DecodingConfig
from core.decoding.lane import LanePlan, LaneRun
from core.drafters.protocol import Drafter
from core.events import Lane, ModelFacts, RoundFinished, RoundOverhead, StepCosts
from core.lab.step_costs import step_costs, wall_ms
from core.lab.timed_model import TimedModel

NewDrafter = Callable[[int, Any], Drafter]
ShouldStop = Callable[[], bool]

TARGET_ROWS = (1, 2, 3, 5, 9, 17)
READ_ROWS = 16  # a draft that missed tokens reads them in steps as wide as this
DRAFT_ROWS = (1, 2, READ_ROWS)
CONTEXT = 64  # tokens in the cache before each step
STEPS = 5  # timed steps of each width, if the budget allows
STEPS_MS, ROUNDS_MS = 500.0, 150.0
ROUNDS = 4
LOOKAHEAD = 4  # of the rounds that show what a proposal adds
# Prompt lookup finds its match in this, so that it has something to propose.
PROMPT = tuple(range(5, 13)) * 3


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
    reading = _steps(draft, DRAFT_ROWS, should_stop) if draft else {1: 0.0}
    rounds = _Rounds(target, draft, new_drafter, should_stop)
    greedy, sampled = rounds.overhead(0.0), rounds.overhead(1.0)
    if should_stop() or not steps or not reading:
        return None
    widest = max(reading)
    return StepCosts(
        rows=tuple(steps),
        target_ms=tuple(steps.values()),
        draft_ms=reading[1],
        draft_two_rows_ms=reading.get(2, reading[1]),
        draft_read_ms=reading[widest] / widest,
        greedy=greedy,
        sampled=sampled,
    )


def _steps(
    loaded: LoadedModel, rows: tuple[int, ...], should_stop: ShouldStop
) -> dict[int, float]:
    """Return the milliseconds of a step by rows, as far as the context has room."""
    room = loaded.model.facts.context_length
    widths = [n for n in rows if n == 1 or 2 * n <= room]
    context = min(CONTEXT, room - max(widths))
    return step_costs(
        loaded.model,
        widths,
        context=context,
        repeats=STEPS,
        budget_ms=STEPS_MS,
        should_stop=should_stop,
    )


class _Rounds:
    """Plays a few rounds and takes the models' steps off their time."""

    def __init__(
        self,
        target: LoadedModel,
        draft: LoadedModel | None,
        new_drafter: NewDrafter,
        should_stop: ShouldStop,
    ) -> None:
        self._loaded = target
        self._target = TimedModel(target.model)
        self._draft = TimedModel(draft.model) if draft else None
        self._new_drafter, self._should_stop = new_drafter, should_stop

    def overhead(self, temperature: float) -> RoundOverhead:
        """Return what a round costs beside its steps at a temperature."""
        plain = [rest for _, rest in self._play(temperature, 0)]
        base = median(plain[1:] or plain or [0.0])  # the first one warms up
        rounds = self._play(temperature, LOOKAHEAD)
        each = [(rest - base) / drafted for drafted, rest in rounds if drafted]
        return RoundOverhead(base, max(0.0, median(each)) if each else 0.0)

    def _play(self, temperature: float, lookahead: int) -> list[tuple[int, float]]:
        """Return each round's proposals and its milliseconds beside the steps."""
        found: list[tuple[int, float]] = []
        end, steps_ms = wall_ms() + ROUNDS_MS, self._steps_ms
        with contextlib.closing(self._lane(temperature, lookahead).events()) as events:
            for event in events:
                if isinstance(event, RoundFinished):
                    rest = event.round_ms - (self._steps_ms - steps_ms)
                    found.append((event.lookahead, rest))
                    if len(found) >= ROUNDS or (len(found) > 1 and wall_ms() > end):
                        break
                steps_ms = self._steps_ms
        return found

    @property
    def _steps_ms(self) -> float:
        return self._target.step_ms + (self._draft.step_ms if self._draft else 0.0)

    def _lane(self, temperature: float, lookahead: int) -> LaneRun:
        settings = DecodingConfig(
            lookahead=lookahead,
            temperature=temperature,
            max_new_tokens=ROUNDS * (LOOKAHEAD + 1) + 1,
            ignore_eos=True,
        )
        plan = LanePlan(
            run_id="costs",
            lane=Lane.SPECULATIVE,
            target=self._target,
            tokenizer=self._loaded.tokenizer,
            eos_ids=self._loaded.eos_ids,
            prompt_ids=_prompt(self._target.facts),
            settings=settings,
            new_drafter=lambda capacity: self._new_drafter(capacity, self._draft),
        )
        return LaneRun(plan, lambda: settings, self._should_stop)


def _prompt(facts: ModelFacts) -> tuple[int, ...]:
    length = max(1, min(len(PROMPT), facts.context_length // 2))
    return tuple(i % facts.vocabulary_size for i in PROMPT[-length:])
