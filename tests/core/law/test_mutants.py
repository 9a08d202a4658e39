"""Each wrong variant of the rounds is noticed, and the right rounds are not."""

from __future__ import annotations

import pytest

from core.decoding import lane, speculative
from core.drafters.draft_model import DraftModel
from core.lab import enumeration
from core.lab.mutants import MUTANTS
from core.lab.trial import catch
from core.sampling import acceptance, draws, streams

TOUCHED = (
    lane,
    speculative,
    enumeration,
    acceptance,
    draws,
    draws.KeyedDraws,
    streams,
    DraftModel,
)


@pytest.mark.law
@pytest.mark.statistical
@pytest.mark.parametrize("name", MUTANTS)
def test_a_wrong_round_is_noticed(name):
    caught = catch(MUTANTS[name])
    assert caught.by, f"{name} survived"


@pytest.mark.law
@pytest.mark.statistical
def test_the_right_rounds_pass_where_the_mutants_fail():
    """Three chi-squares at 1e-4 with fixed seeds: false alarm odds 3 in 10,000."""
    assert catch(None).by == ""


def test_mutants_are_undone():
    before = [vars(owner).copy() for owner in TOUCHED]
    assert len(MUTANTS) >= 12
    for mutant in MUTANTS.values():
        with mutant.applied():
            assert [vars(owner) for owner in TOUCHED] != before
        assert [vars(owner).copy() for owner in TOUCHED] == before
