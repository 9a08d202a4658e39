"""One sentence on what to do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.events import RoundOverhead
from core.lab.advice import advise, advise_on_sweep
from core.lab.sweep_events import SweepCell
from tests.core.lab.costs import step_costs


def test_places_that_are_never_accepted_lower_k():
    shares = (0.9, 0.8, 0.7, 0.6, 0.0, 0.0, 0.0)
    found = advise(shares, 0.8, 200, 7, step_costs(), greedy=True)
    assert found == "Places 5 and up are never accepted: lower K to 4."
    found = advise(shares[:5], 0.8, 200, 5, step_costs(), greedy=True)
    assert found == "Place 5 is never accepted: lower K to 4."


def test_a_dear_draft_asks_for_a_smaller_one():
    found = advise((0.75, 0.55, 0.4), 0.75, 200, 3, step_costs(0.6), greedy=True)
    assert found == ("This draft costs 0.6 of the target: try a smaller one, or K = 1.")


@pytest.mark.parametrize(
    ("ratio", "words"), [(0.1, "use K = 0"), (0.9, "costs 0.9 of the target")]
)
def test_where_nothing_wins_k_is_zero(ratio, words):
    found = advise((0.0, 0.0), 0.0, 200, 2, step_costs(ratio), greedy=True)
    assert words in found
    assert "K = 0" in found


def test_a_target_that_drafts_for_itself_is_told_to_stop():
    """Everything is accepted, and a K that gains a hundredth is no answer."""
    own = replace(
        step_costs(1.0),
        target_ms=(20.0, 20.1, 20.2, 20.3, 20.4, 20.5),
        greedy=RoundOverhead(0.3, 0.0),
    )
    found = advise((1.0,) * 4, 1.0, 200, 4, own, greedy=True)
    assert found.endswith("try a smaller one, or K = 0.")


def test_a_better_k_is_named_with_its_gain_and_a_good_one_is_left():
    cheap = step_costs(0.05)
    found = advise((0.9,), 0.9, 200, 1, cheap, greedy=True)
    assert found.startswith("K = 9 should be ")
    assert "% faster than K = 1" in found
    shares = tuple(0.9**i for i in range(1, 10))
    assert "as good as any" in advise(shares, 0.9, 200, 9, cheap, greedy=True)


def test_too_few_rounds_give_no_advice():
    assert advise((0.0,), 0.0, 19, 1, step_costs(), greedy=True) == ""
    assert advise((), None, 200, 1, step_costs(), greedy=True) == ""


def test_a_sweep_names_its_fastest_cell_or_k_zero():
    def cell(k: int, speedup: float) -> SweepCell:
        return SweepCell(
            k, 0.8, speedup=speedup, speedup_low=speedup, speedup_high=speedup
        )

    found = advise_on_sweep([cell(2, 1.2), cell(4, 1.9)], step_costs())
    assert found.startswith("K = 4 at temperature 0.8 is the fastest: 1.90 times")
    assert "use K = 0" in advise_on_sweep([cell(2, 0.7)], step_costs())
    assert advise_on_sweep([], step_costs()) == ""
