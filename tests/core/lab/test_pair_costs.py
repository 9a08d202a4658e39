"""What is timed when a pair is loaded: that it is there, never how long it took."""

from __future__ import annotations

import pytest

from core.control import Control
from core.events import LoadProgress, PairLoaded
from core.lab.pair_costs import TARGET_ROWS
from core.session import Session
from tests.core.tiny_sessions import checkpoint, load, pair

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    return checkpoint(tmp_path_factory.mktemp("timed") / "target")


def test_a_draft_models_steps_and_rounds_are_timed(target, tmp_path):
    costs = load(
        Session(), pair(target, checkpoint(tmp_path / "draft", layers=1, seed=1))
    ).costs
    assert costs is not None
    assert costs.rows == TARGET_ROWS
    assert len(costs.target_ms) == len(costs.rows)
    assert min(*costs.target_ms, costs.draft_ms, costs.draft_two_rows_ms) > 0
    assert 0 < costs.draft_read_ms < costs.draft_ms, "many at once are cheaper"
    assert min(costs.greedy.round_ms, costs.sampled.round_ms) > 0


def test_what_a_longer_context_costs_is_timed_where_there_is_one(target, tmp_path):
    costs = load(Session(), pair(target)).costs
    assert costs is not None
    assert costs.context == 64
    assert costs.target_token_ms >= 0
    short = load(Session(), pair(checkpoint(tmp_path, max_position_embeddings=300)))
    assert short.costs is not None
    assert (short.costs.context, short.costs.target_token_ms) == (0, 0.0)


def test_prompt_lookup_costs_no_draft_steps_but_its_proposals_are_judged(target):
    costs = load(Session(), pair(target)).costs
    assert costs is not None
    assert (costs.draft_ms, costs.draft_read_ms) == (0.0, 0.0)
    assert costs.greedy.round_ms > 0


def test_a_short_context_is_timed_as_far_as_it_goes(tmp_path):
    short = checkpoint(tmp_path / "short", max_position_embeddings=12)
    costs = load(Session(), pair(short)).costs
    assert costs is not None
    assert costs.rows == (1, 2, 3, 4, 5, 6)


def test_a_load_that_is_stopped_while_it_times_keeps_the_pair_before(target, tmp_path):
    session, control, seen = Session(), Control(), []
    load(session, pair(target))
    before = session.pair
    other = pair(checkpoint(tmp_path / "other", seed=5))
    for event in session.load(other, control):
        seen.append(event)
        if isinstance(event, LoadProgress) and event.stage == "Timing the steps":
            control.stop()
    assert any(getattr(event, "stage", "") == "Timing the steps" for event in seen)
    assert not any(isinstance(event, PairLoaded) for event in seen)
    assert session.pair == before


def test_a_target_that_drafts_for_itself_costs_what_it_costs(target):
    """Timed apart on a busy machine, it came out at half of itself and so "won"."""
    costs = load(Session(), pair(target, target)).costs
    assert costs is not None
    assert costs.draft_ms == costs.target_ms[0]
    assert costs.draft_two_rows_ms == costs.target_ms[1]
