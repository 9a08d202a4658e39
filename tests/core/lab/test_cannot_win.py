"""A pair that cannot win: the target drafts for itself; all is accepted, for nothing.

Times are counted, not measured: each step takes what it costs by the written table, so
that the verdict is the same on any machine.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.config import DecodingConfig
from core.control import Control
from core.decoding.lane import LanePlan
from core.decoding.race import Race
from core.drafters.draft_model import DraftModel
from core.events import Counts, JudgedSpeed, Lane, RaceFinished, StepCosts
from core.lab import cost_model
from core.lab.advice import advise_on_sweep
from core.lab.run_advice import RunAdvice
from core.lab.sweep_events import SweepPlan
from core.lab.sweep_runs import SweepRun, all_cells, best_cell
from core.lab.table_model import NumberTokenizer
from core.machine import describe_machine
from core.runtime.clock import Clock
from tests.core.decoding.toys import toy
from tests.core.lab.costs import step_costs
from tests.core.tables import rounds_of

OWN = replace(step_costs(1.0), draft_ms=20.0, draft_two_rows_ms=20.6)
SETTINGS = DecodingConfig(lookahead=4, max_new_tokens=64, ignore_eos=True)


class Priced:
    """A model or runner whose steps move a clock by what they cost."""

    now_ms = 0.0

    def __init__(self, inner, costs: StepCosts) -> None:
        self._inner, self._costs = inner, costs

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def new_runner(self, capacity):
        return Priced(self._inner.new_runner(capacity), self._costs)

    def step(self, ids):
        Priced.now_ms += cost_model.target_ms(self._costs, len(ids))
        return self._inner.step(ids)


@pytest.fixture
def counted_time(monkeypatch):
    monkeypatch.setattr(Clock, "now_ms", lambda self: Priced.now_ms)


def plan(lane: Lane, settings: DecodingConfig) -> LanePlan:
    model = Priced(toy(), OWN)
    drafter = (
        (lambda capacity: DraftModel(model, capacity))
        if lane is not lane.PLAIN
        else None
    )
    return LanePlan(
        run_id="own",
        lane=lane,
        target=model,
        tokenizer=NumberTokenizer(),
        eos_ids=(),
        prompt_ids=(1, 2, 3),
        settings=settings,
        new_drafter=drafter,
        costs=OWN,
    )


def race(settings: DecodingConfig) -> tuple[list, RaceFinished]:
    plans = {lane: plan(lane, settings) for lane in Lane}
    control, machine = Control(settings), describe_machine("cpu")
    events = list(Race(plans, 3, control, machine, 0).events())
    assert isinstance(events[-1], RaceFinished)
    return events, events[-1]


@pytest.mark.parametrize("lookahead", [1, 2, 4, 8, 16])
def test_a_race_of_the_target_with_itself_hurts_and_says_k_zero(
    counted_time, lookahead
):
    events, result = race(replace(SETTINGS, lookahead=lookahead))
    assert result.acceptance_rate == 1.0
    assert result.verdict is JudgedSpeed.HURTS
    assert (result.break_even_acceptance or 1.0) > 0.99
    advice = RunAdvice()
    for event in events:
        advice.on_event(event)
    if lookahead < 16:  # with 16 there are too few rounds for a sentence
        assert advice.sentence() == (
            "This draft costs 1.0 of the target and no K wins with it: try a smaller "
            "one, or K = 0."
        )


def test_the_best_k_is_zero_even_if_everything_is_accepted():
    table = cost_model.curve(OWN, cost_model.one_rate(1.0), greedy=True)
    assert cost_model.best(table).lookahead == 0
    assert all(each.speedup < 1 for each in table[1:])


def test_an_automatic_k_goes_to_zero_and_is_no_slower_than_plain(counted_time):
    events, result = race(replace(SETTINGS, auto_lookahead=True))
    chosen = [
        each.auto_lookahead
        for each in rounds_of(events)
        if each.lane is Lane.SPECULATIVE
    ]
    assert chosen.count(0) > 0.8 * len(chosen)
    assert result.speedup.median > 0.97


def test_a_sweep_of_it_says_k_zero():
    lookaheads = (0, 1, 2, 4, 8)
    runs = [
        SweepRun(
            k,
            0.0,
            "code",
            "a",
            1,
            Counts(60 // (k + 1), 60 // (k + 1) * k, 60 // (k + 1) * k,
                   60 // (k + 1) * k, 0, 60 // (k + 1), 60),
            cost_model.round_ms(OWN, k, greedy=True) * 60 / (k + 1),
            (60 // (k + 1),) * k,
            (60 // (k + 1),) * k,
            60 // (k + 1),
        )
        for k in lookaheads
    ]  # fmt: skip
    plan = SweepPlan((1, 2, 4, 8), (0.0,), ("code",), repeats=1)
    cells = all_cells(plan, runs, OWN)
    assert best_cell(cells).speedup < 1.01  # the rule's own work is shared by more
    assert "or K = 0." in advise_on_sweep(cells, OWN)
