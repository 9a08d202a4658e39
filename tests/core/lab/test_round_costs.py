"""The prices of a round's own work, told apart from rounds of different mixtures."""

from __future__ import annotations

import pytest

from core.events import RoundOverhead, StepCosts
from core.lab import cost_model
from core.lab.cost_model import Acceptance
from core.lab.round_costs import RoundCost, fit_overhead

MIXTURES = ((1, 1), (6, 1), (6, 2), (6, 6), (1, 1), (6, 1), (6, 4), (6, 6))


def rounds(start: float, proposal: float, judged: float) -> list[RoundCost]:
    return [RoundCost(d, j, start + d * proposal + j * judged) for d, j in MIXTURES]


def test_start_proposals_and_judgements_are_told_apart():
    found = fit_overhead(0.9, rounds(1.5, 0.2, 0.3))
    assert found.round_ms == 0.9
    assert found.start_ms == pytest.approx(0.6)
    assert found.proposal_ms == pytest.approx(0.2)
    assert found.judged_ms == pytest.approx(0.3)


def test_a_round_that_something_else_disturbed_is_left_out():
    disturbed = [*rounds(1.5, 0.2, 0.3), RoundCost(6, 1, 40.0)]
    found = fit_overhead(0.9, disturbed)
    assert found.proposal_ms == pytest.approx(0.2, abs=0.02)
    assert found.judged_ms == pytest.approx(0.3, abs=0.02)


def test_no_price_is_below_nothing():
    found = fit_overhead(0.9, rounds(1.5, 0.2, -0.1))
    assert found.judged_ms == 0.0
    assert found.proposal_ms >= 0.0


@pytest.mark.parametrize("mixture", [(4, 4), (4, 1)])
def test_rounds_of_one_mixture_are_explained_as_a_whole(mixture):
    found = fit_overhead(1.0, [RoundCost(*mixture, 3.0)] * 5)
    whole = (
        found.round_ms
        + found.start_ms
        + mixture[0] * found.proposal_ms
        + mixture[1] * found.judged_ms
    )
    assert whole == pytest.approx(3.0)


def test_without_a_proposal_only_the_base_is_known():
    assert fit_overhead(1.0, []) == RoundOverhead(1.0, 0.0)


def test_a_prediction_counts_the_places_that_will_be_judged():
    """Of four proposals 1 + 0.5 + 0.25 + 0.125 are judged where each passes at 0.5."""
    work = RoundOverhead(1.0, 0.2, start_ms=0.5, judged_ms=0.4)
    costs = StepCosts((1, 17), (20.0, 36.0), 2.0, 2.0, 0.2, work, work)
    found = cost_model.predict(costs, Acceptance((), 0.5), 4, greedy=True)
    judged = 1 + 0.5 + 0.25 + 0.125
    expected = 4 * 2.2 + 24.0 + 1.0 + 0.5 + judged * 0.4
    assert found.round_ms == pytest.approx(expected)
    assert cost_model.plain_ms(costs, greedy=True) == 21.0
