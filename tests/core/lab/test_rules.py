"""Rules compared at the places of a run: by hand, and on a recorded one."""

from __future__ import annotations

from dataclasses import replace

import pytest

import resources
from core.config import DecodingConfig, DecodingRequest
from core.events import Candidate, Lane, Place, RoundFinished, Verdict
from core.lab.rules import RULES, compare
from core.metrics import expected_tokens
from core.trace import read_trace
from tests.fakes import LaneScript

TOP = (Candidate(7, "a", 0.6), Candidate(8, "b", 0.3))


def _place(index, token_id, verdict, overlap, product, agrees) -> Place:
    chosen = (verdict, 0.5, 0.4, 0.3, 0.8, overlap, product, agrees)
    return Place(index, token_id, "x", *chosen, target_top=TOP)


def _run(places) -> list:
    script = LaneScript(
        DecodingRequest("r", "Say it.", DecodingConfig(lookahead=3)),
        Lane.SPECULATIVE,
        config=DecodingConfig(lookahead=3),
    )
    *_, event = script.round(script.config)
    return [*script.started(), replace(event, places=places, lookahead=3)]


def test_each_rule_is_the_mean_of_its_own_chance_over_the_judged_places():
    events = _run(
        (
            _place(1, 7, Verdict.ACCEPTED, 0.8, 0.5, True),
            _place(2, 9, Verdict.REFUSED, 0.4, 0.1, False),
            _place(3, 7, Verdict.DISCARDED, None, None, None),
        )
    )
    figures = compare(events)
    assert [f.acceptance for f in figures] == pytest.approx([0.6, 0.5, 0.3, 0.5])
    assert [f.places for f in figures] == [2] * 4
    assert figures[0].tokens_per_round == pytest.approx(expected_tokens(0.6, 3))
    assert [f.lossless for f in figures] == [True, True, True, False]


def test_a_run_without_a_judged_place_has_no_figures():
    assert [f.acceptance for f in compare([])] == [None] * len(RULES)
    plain = LaneScript(DecodingRequest("r", "Say it.", DecodingConfig()), Lane.PLAIN)
    events = [*plain.started(), *plain.round(plain.config)]
    assert {f.tokens_per_round for f in compare(events)} == {None}


def test_no_lossless_rule_keeps_more_than_chens_on_a_recorded_run():
    """Sum of min is the most that any coupling keeps; two samples agree less often.

    Shared noise is one draw a place, so it is held only against its own spread.
    """
    events = read_trace(resources.path("demo/tour.jsonl")).events
    chen, shared, exact, _ = compare(events)
    assert chen.acceptance > exact.acceptance
    assert shared.acceptance < chen.acceptance + 4 * shared.error
    assert chen.error is exact.error is None
    judged = [
        p
        for e in events
        if isinstance(e, RoundFinished)
        for p in e.places
        if p.overlap is not None
    ]
    assert all(p.product <= p.overlap + 1e-6 for p in judged)
