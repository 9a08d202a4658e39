"""What rounds cost beside their models' steps, from a few real ones.

Three short plays: single proposals and long ones on a text that nobody can guess, and
long ones on a text that repeats itself. So proposals are judged and discarded in
different mixtures, and the price of each can be told apart.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from core.checkpoints.loading import LoadedModel
from core.config import DecodingConfig
from core.decoding.lane import LanePlan, LaneRun
from core.drafters.protocol import Drafter
from core.events import Lane, RoundFinished, RoundOverhead
from core.lab.step_costs import wall_ms
from core.lab.timed_model import TimedModel

NewDrafter = Callable[[int, Any], Drafter]
ShouldStop = Callable[[], bool]

ROUNDS = 6  # of each play, the first of which warms up
ROUNDS_MS = 150.0  # no further round begins after this time
FEW, MANY = 1, 6  # proposals a round
# Prompt lookup finds its match in this, so that it has something to propose.
SENSELESS = tuple(range(5, 13)) * 3
# Drafts small and large guess much of this, so that several places are judged a round.
COPYING = "".join(
    f"def {name}(a, b):\n    return a {sign} b\n\n"
    for name, sign in (("add", "+"), ("sub", "-"), ("mul", "*"), ("div", "/"))
)
USUAL = 2.0  # a round this many times as far off as the median one is left out


@dataclass(frozen=True, slots=True)
class RoundCost:
    """One round that was played.

    Attributes:
        drafted: its proposals.
        judged: how many of them were judged.
        rest_ms: its time without the steps.
    """

    drafted: int
    judged: int
    rest_ms: float


class RoundCosts:
    """Plays rounds and takes the models' steps off their time.

    Args:
        target: the loaded target.
        draft: the loaded draft; None for a drafter without weights.
        new_drafter: makes a drafter for a capacity from the draft's model.
        draft_ms: a step of the draft; as many as were proposed are taken off.
        should_stop: asked between rounds.
    """

    def __init__(
        self,
        target: LoadedModel,
        draft: LoadedModel | None,
        new_drafter: NewDrafter,
        draft_ms: float,
        should_stop: ShouldStop,
    ) -> None:
        self._loaded = target
        self._target = TimedModel(target.model)
        self._draft = draft.model if draft else None
        self._new_drafter, self._should_stop = new_drafter, should_stop
        self._draft_ms = draft_ms

    def overhead(self, temperature: float) -> RoundOverhead:
        """Return what a round costs beside its steps at a temperature."""
        plain = self._play(temperature, 0, self._senseless())
        rounds = [
            round_
            for lookahead, ids in (
                (FEW, self._senseless()),
                (MANY, self._senseless()),
                (MANY, self._copying()),
            )
            for round_ in self._play(temperature, lookahead, ids)
        ]
        base = median([round_.rest_ms for round_ in plain] or [0.0])
        return fit_overhead(base, [r for r in rounds if r.drafted])

    def _play(
        self, temperature: float, lookahead: int, ids: tuple[int, ...]
    ) -> list[RoundCost]:
        """Return the rounds of one play; without the first where there is another."""
        found: list[RoundCost] = []
        end, step_ms = wall_ms() + ROUNDS_MS, self._target.step_ms
        lane = self._lane(temperature, lookahead, ids)
        with contextlib.closing(lane.events()) as events:
            for event in events:
                if isinstance(event, RoundFinished):
                    steps_ms = self._target.step_ms - step_ms
                    found.append(self._cost(event, steps_ms))
                    if len(found) >= ROUNDS or (len(found) > 1 and wall_ms() > end):
                        break
                step_ms = self._target.step_ms
        return found[1:] or found

    def _cost(self, event: RoundFinished, target_ms: float) -> RoundCost:
        drafted = event.lookahead
        rest = event.round_ms - target_ms - drafted * self._draft_ms
        return RoundCost(drafted, event.counts.tested, rest)

    def _lane(
        self, temperature: float, lookahead: int, ids: tuple[int, ...]
    ) -> LaneRun:
        settings = DecodingConfig(
            lookahead=lookahead,
            temperature=temperature,
            max_new_tokens=ROUNDS * (MANY + 1) + 1,
            ignore_eos=True,
        )
        plan = LanePlan(
            run_id="costs",
            lane=Lane.SPECULATIVE if lookahead else Lane.PLAIN,
            target=self._target,
            tokenizer=self._loaded.tokenizer,
            eos_ids=self._loaded.eos_ids,
            prompt_ids=ids,
            settings=settings,
            new_drafter=self._drafter if lookahead else None,
        )
        return LaneRun(plan, lambda: settings, self._should_stop)

    def _drafter(self, capacity: int) -> Drafter:
        return self._new_drafter(capacity, self._draft)

    def _senseless(self) -> tuple[int, ...]:
        size = self._target.facts.vocabulary_size
        return self._fitting([i % size for i in SENSELESS])

    def _copying(self) -> tuple[int, ...]:
        ids = self._loaded.tokenizer.encode(COPYING, add_special_tokens=False)
        return self._fitting(ids) or self._senseless()

    def _fitting(self, ids: Sequence[int]) -> tuple[int, ...]:
        return tuple(ids[-max(1, self._target.facts.context_length // 2) :])


def fit_overhead(base_ms: float, rounds: Sequence[RoundCost]) -> RoundOverhead:
    """Return the overhead that explains some rounds best.

    Args:
        base_ms: what a round without proposals costs beside its step.
        rounds: with proposals; those that are far off are left out.
    """
    if not rounds:
        return RoundOverhead(base_ms, 0.0)
    found = _fit(rounds)
    misses = [abs(_expected(found, r) - r.rest_ms) for r in rounds]
    most = USUAL * median(misses)
    found = _fit([r for r, miss in zip(rounds, misses, strict=True) if miss <= most])
    start, proposal, judged = found
    return RoundOverhead(base_ms, proposal, start - base_ms, judged)


def _expected(found: tuple[float, float, float], round_: RoundCost) -> float:
    start, proposal, judged = found
    return start + proposal * round_.drafted + judged * round_.judged


def _fit(rounds: Sequence[RoundCost]) -> tuple[float, float, float]:
    """Return start, price of a proposal and of a judgement, by least squares.

    A price below nothing is noise, and so is one that the rounds cannot tell from
    another: it is left out and the others are fitted again.
    """
    values = np.array([[1.0, r.drafted, r.judged] for r in rounds])  # [n, 3]
    rest = np.array([r.rest_ms for r in rounds])
    for columns in ([0, 1, 2], [0, 1], [0, 2], [0]):
        part = values[:, columns]
        prices, _, rank, _ = np.linalg.lstsq(part, rest, rcond=None)
        if rank == len(columns) and all(prices[1:] >= 0):
            whole = dict(zip(columns, prices.tolist(), strict=True))
            return whole.get(0, 0.0), whole.get(1, 0.0), whole.get(2, 0.0)
    return 0.0, 0.0, 0.0
