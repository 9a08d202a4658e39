"""Lanes that part: rounding is told from faults, and neither is hidden (H7)."""

from __future__ import annotations

import dataclasses

import pytest

from core.config import Coupling, DecodingConfig
from core.control import Control
from core.decoding.divergence import divergence
from core.decoding.lane import LanePlan
from core.decoding.race import Race
from core.events import DivergenceKind, Lane, Origin, RaceFinished, TokenOutcome
from core.lab.mutants import MUTANTS
from core.lab.table_model import NumberTokenizer
from core.machine import describe_machine
from core.sampling.summaries import near_tie_tolerance
from tests.core.decoding.toys import toy
from tests.core.tables import drafting, looking_up

NEAR, FAR = 0.01, 3.0


def _token(token_id: int, margin: float | None = FAR) -> TokenOutcome:
    near = margin is not None and margin <= NEAR
    return TokenOutcome(token_id, "x", Origin.PLAIN, margin=margin, near_tie=near)


def _parted(a: float | None, b: float | None, **how):
    same = [_token(7)] * 3
    return divergence([*same, _token(1, a)], [*same, _token(2, b)], **how)


def test_equal_lanes_do_not_part():
    assert divergence([_token(1)] * 3, [_token(1, 0.0)] * 3) is None


def test_a_small_gap_in_both_lanes_is_a_near_tie():
    """H7."""
    found = _parted(NEAR / 2, NEAR)
    assert (found.position, found.gap) == (3, NEAR)
    assert found.kind is DivergenceKind.NEAR_TIE


@pytest.mark.parametrize(
    "gaps", [(NEAR, FAR), (FAR, NEAR), (FAR, FAR), (None, NEAR), (None, None)]
)
def test_a_large_gap_in_one_lane_is_never_called_rounding(gaps):
    """H7: a wrong lane may well be undecided itself where the right one is sure."""
    assert _parted(*gaps).kind is DivergenceKind.BUG


def test_rounding_excuses_nothing_where_both_lanes_round_alike():
    """DESIGN.md 1: identity holds by construction on a row-invariant runner."""
    assert _parted(NEAR, NEAR, row_invariant=True).kind is DivergenceKind.BUG


def test_a_lane_that_ends_early_is_a_fault():
    found = divergence([_token(1, NEAR)] * 4, [_token(1, NEAR)] * 3)
    assert (found.position, found.kind) == (3, DivergenceKind.BUG)


def test_four_steps_of_half_precision_are_the_tolerance():
    """H7: 0.25 for logits of 8 to 16 in bfloat16."""
    assert near_tie_tolerance(8.0, "bfloat16") == 0.25
    assert near_tie_tolerance(15.9, "bfloat16") == 0.25
    assert near_tie_tolerance(16.0, "bfloat16") == 0.5
    assert near_tie_tolerance(8.0, "float16") == 0.25 / 8
    assert near_tie_tolerance(8.0, "float32") < 0.001


# --- through the race ----------------------------------------------------------------


def _race(new_drafter, **changes) -> RaceFinished:
    settings = DecodingConfig(**{"lookahead": 3, "max_new_tokens": 40, **changes})
    plain = LanePlan(
        run_id="race",
        lane=Lane.PLAIN,
        target=toy(),
        tokenizer=NumberTokenizer(),
        eos_ids=(),
        prompt_ids=(1, 2, 3, 1, 2),
        settings=settings,
    )
    fast = dataclasses.replace(plain, lane=Lane.SPECULATIVE, new_drafter=new_drafter)
    plans = {Lane.PLAIN: plain, Lane.SPECULATIVE: fast}
    *_, result = Race(plans, 1, Control(settings), describe_machine("cpu"), 0).events()
    assert isinstance(result, RaceFinished)
    return result


SAME = {
    "greedy": {},
    "shared noise": {"temperature": 0.8, "coupling": Coupling.SHARED_NOISE},
}


@pytest.mark.parametrize("settings", SAME.values(), ids=SAME)
@pytest.mark.parametrize("new_drafter", [drafting(toy(seed=1)), looking_up(32)])
def test_a_right_race_is_identical(new_drafter, settings):
    result = _race(new_drafter, **settings)
    assert result.identical is True
    assert result.divergence is None


def test_a_sampled_race_has_no_answer():
    result = _race(drafting(toy(seed=1)), temperature=1.0)
    assert (result.identical, result.divergence) == (None, None)


WRONG = ("verify_row_off_by_one", "penalties_miss_the_block")


@pytest.mark.parametrize("mutant", WRONG)
def test_a_wrong_lane_is_called_a_bug_with_its_place(mutant):
    """H7: on the very path that the window takes; blocks are long, so it shows."""
    with MUTANTS[mutant].applied():
        result = _race(drafting(toy()), repetition_penalty=1.4)
    assert result.identical is False
    assert result.divergence.kind is DivergenceKind.BUG
    assert 0 <= result.divergence.position < 40
