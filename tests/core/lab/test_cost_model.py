"""What each K should bring, against sums that can be done by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core import metrics
from core.events import RoundOverhead, StepCosts
from core.lab import cost_model
from core.lab.cost_model import Acceptance, by_place, one_rate
from tests.core.lab.costs import step_costs

# The paper's pair (arXiv:2302.01318): 14.1 ms, 1.8 ms, a round of 7 near 28.6 ms.
NOTHING = RoundOverhead(0.0, 0.0)
PAPER = StepCosts((1, 8), (14.1, 15.0), 1.8, 1.8, 0.0, NOTHING, NOTHING)


def test_a_row_between_two_widths_lies_on_the_line_between_them():
    costs = step_costs()
    assert cost_model.target_ms(costs, 1) == 20.0
    assert cost_model.target_ms(costs, 4) == pytest.approx(22.1)
    assert cost_model.target_ms(costs, 13) == pytest.approx(31.5)
    assert cost_model.target_ms(costs, 17) == 36.0


@pytest.mark.parametrize("lookahead", [1, 4, 7])
def test_one_rate_gives_leviathans_closed_form(lookahead):
    found = cost_model.predict(PAPER, one_rate(0.8), lookahead, greedy=False)
    round_ms = 1.8 * lookahead + 14.1 + (15.0 - 14.1) * lookahead / 7
    tokens = (1 - 0.8 ** (lookahead + 1)) / (1 - 0.8)
    assert found.tokens == pytest.approx(tokens)
    assert found.round_ms == pytest.approx(round_ms)
    assert found.ms_per_token == pytest.approx(round_ms / tokens)
    expected = metrics.predicted_speedup(
        0.8, lookahead, 1.8 * lookahead, round_ms - 1.8 * lookahead, 14.1
    )
    assert found.speedup == pytest.approx(expected)


def test_acceptance_by_place_is_summed_and_continued_at_the_rate():
    acceptance = Acceptance((0.9, 0.5), rate=0.4)
    found = cost_model.predict(PAPER, acceptance, 4, greedy=True)
    assert found.tokens == pytest.approx(1 + 0.9 + 0.5 + 0.5 * 0.4 + 0.5 * 0.4**2)


def test_a_drafter_that_seldom_proposes_seldom_costs():
    always = cost_model.predict(PAPER, Acceptance((0.9,), 0.9), 1, greedy=True)
    half = cost_model.predict(PAPER, Acceptance((0.9,), 0.9, 0.5), 1, greedy=True)
    assert half.tokens == pytest.approx((always.tokens + 1) / 2)
    assert half.round_ms == pytest.approx((always.round_ms + 14.1) / 2)


def test_the_share_of_a_late_place_cannot_rise():
    found = by_place((0.5, 0.8, None, 0.3), 0.6)
    assert found == Acceptance((0.5, 0.5), 0.6)
    assert by_place((), None) is None


def test_the_best_lookahead_grows_with_acceptance_and_may_be_zero():
    costs = step_costs(0.25)

    def best(rate: float) -> int:
        return cost_model.best(
            cost_model.curve(costs, one_rate(rate), greedy=True)
        ).lookahead

    found = [best(rate) for rate in (0.0, 0.2, 0.5, 0.8, 0.95, 1.0)]
    assert found[:2] == [0, 0]
    assert found == sorted(found)
    assert found[-1] == 16
    hopeless = cost_model.curve(step_costs(1.0), one_rate(1.0), greedy=True)
    assert cost_model.best(hopeless).lookahead == 0, "draft = target cannot win"


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("ratio", [0.05, 0.4, 1.0])
def test_the_fastest_lookahead_is_the_best_of_the_curve(ratio, share):
    costs = step_costs(ratio)
    for rate in (0.0, 0.3, 0.7, 0.95, 1.0):
        reached = tuple(rate**i for i in range(1, 17))
        acceptance = Acceptance(reached, rate, share)
        found = cost_model.fastest(costs, acceptance, greedy=False)
        best = cost_model.best(cost_model.curve(costs, acceptance, greedy=False))
        assert found == best.lookahead


def test_at_the_break_even_rate_a_round_costs_what_its_tokens_cost():
    costs = step_costs(0.25)
    rate = cost_model.break_even(costs, 3, greedy=False)
    assert rate is not None
    # The closed form has no second row of the draft, which a full acceptance costs.
    found = cost_model.predict(costs, one_rate(rate), 3, greedy=False)
    assert found.speedup == pytest.approx(1.0, abs=0.01)
    assert cost_model.break_even(step_costs(1.2), 1, greedy=False) is None


def test_no_round_is_shorter_than_its_target_step_however_noisy_the_costs():
    """A start of -680 ms was fitted on a machine that others used meanwhile."""
    noisy = replace(step_costs(), greedy=RoundOverhead(1.0, 0.0, start_ms=-680.0))
    for each in cost_model.curve(noisy, one_rate(0.9), greedy=True):
        rows = each.lookahead + 1
        assert each.round_ms >= cost_model.target_ms(noisy, rows)
        assert each.speedup > 0


def test_a_longer_context_costs_every_row_of_a_step():
    """Nine rows attend nine times as often as one."""
    short = replace(
        step_costs(), context=64, target_token_ms=0.002, draft_token_ms=0.001
    )
    long = cost_model.at_context(short, 564)
    assert cost_model.target_ms(long, 1) == pytest.approx(20.0 + 500 * 0.002)
    assert cost_model.target_ms(long, 9) == pytest.approx(27.0 + 9 * 500 * 0.002)
    assert long.draft_ms == pytest.approx(short.draft_ms + 0.5)
    assert cost_model.at_context(short, 10) == short
    assert cost_model.at_context(step_costs(), 564) == step_costs()


def test_one_disturbed_timing_does_not_count():
    disturbed = replace(step_costs(), target_ms=(90.0,) * 6, draft_ms=50.0)
    found = cost_model.typical([step_costs(), disturbed, step_costs()])
    assert found.target_ms == step_costs().target_ms
    assert found.draft_ms == step_costs().draft_ms
