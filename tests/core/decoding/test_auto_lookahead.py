"""K chosen round by round: it falls, climbs, recovers, and costs next to nothing (H14).

Times are counted by the recorded costs, as if every step took exactly as long: a
synthetic clock, so that these tests say the same on any machine.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from dataclasses import replace
from statistics import mean

import pytest

from core.config import DecodingConfig
from core.control import Control
from core.decoding.auto_lookahead import AutoLookahead
from core.decoding.lane import LanePlan, LaneRun
from core.decoding.race import Race
from core.events import Lane, RaceFinished, RepeatFinished, SettingsChanged, StepCosts
from core.lab.cost_model import round_ms
from core.lab.table_model import NumberTokenizer
from core.machine import describe_machine
from tests.core.lab.costs import step_costs
from tests.core.tables import drafting, random_logits, rounds_of, table

TOKENS = 512
SEEDS = 8
GREEDY = DecodingConfig(lookahead=5, auto_lookahead=True)
Rate = Callable[[int], float]


class Clock:
    """Adds up what rounds cost, catching up included."""

    def __init__(self, costs: StepCosts) -> None:
        self.ms, self._costs, self._missed = 0.0, costs, 0

    def play(self, lookahead: int, accepted: int) -> None:
        costs = self._costs
        self.ms += round_ms(costs, lookahead, greedy=True)
        if lookahead == 0:
            self._missed += 1
            return
        self.ms += self._missed * costs.draft_read_ms
        self._missed = int(accepted == lookahead)


def played(
    costs: StepCosts,
    rate: Rate,
    seed: int = 0,
    fixed: int | None = None,
    settings: DecodingConfig = GREEDY,
) -> tuple[float, list[int]]:
    """Return milliseconds and every K of a run whose proposals pass at ``rate``."""
    auto, clock = AutoLookahead(costs), Clock(costs)
    chance, emitted, lookaheads = random.Random(seed), 0, []
    while emitted < TOKENS:
        wanted = auto.choose(settings) if fixed is None else fixed
        lookahead = min(wanted, TOKENS - emitted - 1)
        accepted = 0
        while accepted < lookahead and chance.random() < rate(emitted):
            accepted += 1
        clock.play(lookahead, accepted)
        if fixed is None:
            auto.observe(lookahead, accepted + (accepted < lookahead), accepted)
        lookaheads.append(wanted)
        emitted += accepted + 1
    return clock.ms, lookaheads


def always(rate: float) -> Rate:
    return lambda emitted: rate


def test_a_hopeless_draft_makes_it_fall_to_zero():
    """H14: from 5 to the floor, within 50 rounds of nothing accepted."""
    _, lookaheads = played(step_costs(), always(0.0))
    assert lookaheads[0] == 5
    assert 0 in lookaheads[:25]
    assert sum(lookaheads[50:]) <= 12, "probes of one token, and few"


def test_a_perfect_draft_makes_it_climb_within_a_dozen_rounds():
    """H14: SELF, at the price of a small draft."""
    _, lookaheads = played(step_costs(), always(1.0))
    assert lookaheads[0] == 5
    assert max(lookaheads[:13]) == 16


def test_each_run_starts_afresh():
    """H14: what an earlier run learned is forgotten, in one object as in two."""
    auto = AutoLookahead(step_costs())
    first = [auto.choose(GREEDY)]
    for _ in range(50):
        auto.observe(first[-1], min(1, first[-1]), 0)
        first.append(auto.choose(GREEDY))
    assert first[-1] == 0
    assert AutoLookahead(step_costs()).choose(GREEDY) == 5
    assert auto.choose(DecodingConfig(lookahead=7, auto_lookahead=True)) == 7


def test_a_draft_that_gets_better_is_found_again_by_a_probe():
    """H14: 40 rounds of nothing, then everything is accepted."""
    _, lookaheads = played(step_costs(), lambda emitted: float(emitted >= 40))
    at_rest = lookaheads.index(0)
    assert at_rest < 30
    assert max(lookaheads) == 16
    assert lookaheads.index(16) < 100


def rests(lookaheads: list[int]) -> list[int]:
    """Return how many rounds lie before each probe; a probe is two rounds of K = 1."""
    first = lookaheads.index(0)
    probes = [i for i, k in enumerate(lookaheads) if i > first and k]
    assert all(lookaheads[i] == 1 for i in probes)
    gaps = [b - a - 1 for a, b in zip([first - 1, *probes], probes, strict=False)]
    return [gap for gap in gaps if gap]


def test_cheap_probes_come_sixteen_rounds_apart():
    """Two rounds and the reading come to less than 2 % of sixteen plain rounds."""
    _, lookaheads = played(step_costs(0.05), always(0.0))
    assert set(rests(lookaheads)) == {16}


def test_dear_probes_come_twice_as_far_after_each_failure():
    _, lookaheads = played(step_costs(0.1), always(0.0))
    found = rests(lookaheads)
    assert found[0] >= 16
    assert found == sorted(found)
    assert {b / a for a, b in itertools.pairwise(found)} <= {1.0, 2.0}
    assert found[-1] == 128


def test_a_draft_that_cannot_win_is_not_even_tried():
    """Draft = target: no K wins, though all were accepted."""
    _, lookaheads = played(step_costs(1.0), always(1.0))
    assert set(lookaheads) == {0}


@pytest.mark.parametrize("ratio", [0.05, 0.13, 0.25, 0.5, 1.0])
@pytest.mark.parametrize("rate", [0.0, 0.05])
def test_a_hopeless_draft_costs_at_most_three_per_cent_over_plain(ratio, rate):
    costs = step_costs(ratio)
    plain, _ = played(costs, always(0.0), fixed=0)
    found = mean(played(costs, always(rate), seed)[0] for seed in range(SEEDS))
    assert found <= 1.03 * plain


@pytest.mark.parametrize("rate", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("ratio", [0.05, 0.13, 0.25])
def test_it_is_within_five_per_cent_of_the_best_fixed_lookahead(ratio, rate):
    costs = step_costs(ratio)

    def cost(fixed: int | None) -> float:
        runs = (played(costs, always(rate), s, fixed) for s in range(SEEDS))
        return mean(ms for ms, _ in runs)

    assert cost(None) <= 1.05 * min(cost(fixed) for fixed in range(9))


def best_fixed(costs: StepCosts, rate: Rate, seeds: int) -> tuple[float, float]:
    """Return the time of the best fixed K from 1 and of K = 0."""

    def cost(fixed: int) -> float:
        return mean(played(costs, rate, s, fixed)[0] for s in range(seeds))

    return min(map(cost, range(1, 9))), cost(0)


def changing(before: float, after: float, at: int = TOKENS // 2) -> Rate:
    return lambda emitted: before if emitted < at else after


@pytest.mark.slow
@pytest.mark.parametrize("ratio", [0.02, 0.05, 0.13, 0.25, 0.35])
@pytest.mark.parametrize(
    "rate",
    [
        *(always(rate) for rate in (0.1, 0.3, 0.6, 0.9)),
        *(changing(a, b) for a, b in ((0.8, 0.0), (0.6, 0.2), (0.9, 0.4))),
        *(changing(a, b) for a, b in ((0.0, 0.6), (0.0, 0.9), (0.2, 0.7), (0.3, 0.9))),
        changing(0.0, 0.8, 200),
    ],
)
def test_it_is_held_to_the_best_fixed_lookahead_also_where_acceptance_changes(
    ratio, rate
):
    """Within 5 % where a fixed K wins, within 3 % of plain decoding everywhere.

    One case is left out of the first: a draft of a quarter of the target's price and up
    that gets good late. To find that out it would have to read what it missed, which
    alone is more than the 3 % that may be lost to a draft that stays hopeless.
    """
    costs, seeds = step_costs(ratio), 4
    fixed, plain = best_fixed(costs, rate, seeds)
    found = mean(played(costs, rate, seed)[0] for seed in range(seeds))
    assert found <= 1.03 * plain
    gets_better = rate(TOKENS) > rate(0)
    if fixed < plain and not (gets_better and ratio >= 0.25):
        assert found <= 1.05 * fixed


@pytest.mark.parametrize("start", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("ratio", [0.05, 0.25, 1.0])
def test_a_hopeless_draft_is_given_up_in_time_from_any_start(ratio, start):
    costs = step_costs(ratio)
    settings = DecodingConfig(lookahead=start, auto_lookahead=True)
    plain, _ = played(costs, always(0.0), fixed=0)
    found, _ = played(costs, always(0.0), settings=settings)
    assert found <= 1.03 * plain


def test_where_reading_what_was_missed_is_too_dear_probes_end():
    """A draft of half the target's price, on a CPU: more than 2 % at any spacing."""
    costs = step_costs(0.5)
    _, lookaheads = played(costs, always(0.0))
    rest = lookaheads.index(0)
    assert sum(k > 0 for k in lookaheads[rest:]) <= 2


# --- in a lane and in a race ---------------------------------------------------------


def plan(settings: DecodingConfig, lane: Lane = Lane.SPECULATIVE) -> LanePlan:
    """A draft that differs from its target, at the price of a small one."""
    target, draft = table(random_logits(8, 1), 8), table(random_logits(8, 2), 8)
    return LanePlan(
        run_id="run",
        lane=lane,
        target=target,
        tokenizer=NumberTokenizer(),
        eos_ids=(),
        prompt_ids=(0, 1),
        settings=settings,
        new_drafter=drafting(draft) if lane is Lane.SPECULATIVE else None,
        costs=step_costs(),
    )


def test_switched_on_in_mid_run_it_starts_from_the_present_lookahead():
    fixed = DecodingConfig(lookahead=3, max_new_tokens=40, temperature=1.0)
    auto, wish = replace(fixed, auto_lookahead=True), [fixed]
    seen = []
    for event in LaneRun(plan(fixed), lambda: wish[0], lambda: False).events():
        seen.append(event)
        wish[0] = auto if len(rounds_of(seen)) >= 4 else fixed
    rounds = rounds_of(seen)
    assert [r.auto_lookahead for r in rounds[:6]][:5] == [None] * 4 + [3]
    assert len({r.auto_lookahead for r in rounds[4:]}) > 1
    (change,) = [e for e in seen if isinstance(e, SettingsChanged)]
    assert change.before.changes(change.after) == ("auto_lookahead",)


def test_a_repeat_with_an_automatic_lookahead_counts():
    """One setting holds all along, however often the K it chooses changes."""
    settings = replace(GREEDY, max_new_tokens=40)
    plans = {lane: plan(settings, lane) for lane in Lane}
    race = Race(plans, 3, Control(settings), describe_machine("cpu"), 0)
    events = list(race.events())
    assert [e.counted for e in events if isinstance(e, RepeatFinished)] == [True] * 3
    chosen = {r.auto_lookahead for r in rounds_of(events) if r.lane is not Lane.PLAIN}
    assert len(chosen) > 1
    result = events[-1]
    assert isinstance(result, RaceFinished)
    assert result.identical is True
    assert not result.speculative.mixed_settings
