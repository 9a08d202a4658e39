"""A lane's header and its ways of being empty."""

from __future__ import annotations

from dataclasses import replace

import pytest
from story import (
    CODE,
    SETTINGS,
    finished,
    plain_rounds,
    speculative_round,
    started,
)

from app.views.lane_view import LaneView
from core.events import (
    Lane,
    Noted,
    PrefillFinished,
    PrefillProgress,
    SettingsChanged,
    StopReason,
)

pytestmark = pytest.mark.window


@pytest.fixture
def lane(show):
    return show(LaneView(Lane.SPECULATIVE))


def feed(lane, *events):
    for event in events:
        lane.on_event(event)


def test_an_empty_lane_says_what_would_fill_it(show):
    lane = show(LaneView(Lane.PLAIN))
    assert lane.header.texts() == ("Plain · same target", "", "")
    assert "Press Race" in lane._empty.text()
    assert lane._empty.isVisible()


def test_the_rate_is_cumulative(lane):
    feed(lane, started())
    feed(lane, speculative_round(0, 0, ["a", "b", "c"], None, clock_ms=100.0))
    assert lane.header.texts() == (
        "Speculative · K = 4",
        "30.0 tok/s",
        "3 tokens · 0.10 s · 1 round",
    )
    feed(lane, speculative_round(1, 3, ["d"], "x", clock_ms=200.0))
    assert lane.header.texts()[1] == "20.0 tok/s"


def test_prefill_is_shown(lane):
    feed(lane, started(), PrefillProgress("r", Lane.SPECULATIVE, 512, 2048))
    assert lane.header.texts()[2] == "reading the prompt, 512 of 2,048 tokens"
    assert lane.header._bar.value() == 250
    feed(lane, PrefillFinished("r", Lane.SPECULATIVE, 230.0))
    assert lane.header.texts()[2] == "prompt read in 0.23 s"
    assert lane.header._bar.value() == 0


def test_the_end_names_its_reason_and_leaves_the_exact_text(lane, rounds):
    text = CODE.replace("|", "")
    feed(lane, started(), *rounds, finished(rounds, text[:-3]))
    assert lane.header.texts()[2].endswith("end of text")
    assert lane.tokens.shown_text() == text[:-3]


def test_an_error_is_said_in_the_lane(lane, rounds):
    end = finished(rounds)
    failed = replace(end.summary, stop_reason=StopReason.ERROR)
    feed(lane, started(), *rounds, replace(end, summary=failed, error="It broke."))
    assert lane.header.texts()[2].endswith("It broke.")
    assert lane.header._line.property("role") == "error"


def test_a_note_is_said_in_the_lane(lane, rounds):
    note = Noted("r", Lane.SPECULATIVE, 3, "The draft's context is full.")
    feed(lane, started(), rounds[0], note)
    assert "The draft's context is full." in lane.header.texts()[2]


def test_a_changed_k_is_in_the_title(lane, rounds):
    after = replace(SETTINGS, lookahead=2)
    change = SettingsChanged("r", Lane.SPECULATIVE, 2, SETTINGS, after)
    feed(lane, started(), change, replace(rounds[0], settings=after))
    assert lane.header.texts()[0] == "Speculative · K = 2"


def test_the_other_lanes_events_pass_by(lane):
    feed(lane, started(Lane.PLAIN), *plain_rounds())
    assert lane.header.texts() == ("Speculative", "", "")


def test_a_warm_up_says_that_it_does_not_count(lane, rounds):
    feed(lane, started(warm_up=True), rounds[0])
    assert lane.header.texts()[2].startswith("warm-up, not counted")


def test_a_chosen_token_names_its_lane(lane, qtbot):
    feed(lane, started(), speculative_round(4, 0, ["a", "b"], "x"))
    lane.tokens.flush()
    with qtbot.waitSignal(lane.round_chosen) as chosen:
        lane.tokens.token_chosen.emit(4, 2)
    assert chosen.args == [Lane.SPECULATIVE, 4, 2]


def test_clearing_empties_the_lane(lane, rounds):
    feed(lane, started(), *rounds)
    lane.clear()
    assert lane.tokens.shown_text() == ""
    assert lane._empty.isVisible()
