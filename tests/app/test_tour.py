"""The guided tour says what its recording shows, and turns by keys without a jump."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt

import resources
from app import theme
from app.dialogs.tour import Tour
from app.help_desk import TOUR
from app.tour_steps import NoTour, Stage, steps_of
from app.views.lane_view import LaneView
from core.events import Lane, Origin, RoundFinished, Verdict
from core.trace import read_trace

pytestmark = pytest.mark.window


@pytest.fixture(scope="module")
def events():
    return read_trace(resources.path(TOUR)).events


@pytest.fixture(scope="module")
def steps(events):
    return steps_of(events)


def test_the_steps_tell_of_real_rounds(events, steps):
    assert [step.stage for step in steps] == list(Stage)
    rounds = [e for e in events if isinstance(e, RoundFinished)]
    broken, whole = steps[0].event, steps[-1].event
    assert broken in rounds
    assert whole in rounds
    refused = next(p for p in broken.places if p.verdict is Verdict.REFUSED)
    assert refused.text.strip() in steps[3].words
    assert broken.tokens[-1].origin is Origin.RESAMPLED
    assert broken.tokens[-1].text.strip() in steps[3].words
    assert whole.counts.accepted == whole.lookahead
    assert whole.tokens[-1].origin is Origin.BONUS
    assert whole.tokens[-1].text.strip() in steps[4].words
    assert all(place.text.strip() in steps[0].words for place in broken.places)


def test_nothing_is_told_before_its_step(steps):
    """A picture that shows the target before it has read gives the answer away."""
    for step in steps:
        known = {Stage.DRAFT: 1, Stage.RESAMPLE: 3}.get(step.stage, 2)
        if step.stage is not Stage.BONUS:
            assert step.bars
            assert all(not any(row.shares[known:]) for row in step.bars)
        if step.stage < Stage.ACCEPT:
            assert not any(row.drawn or row.proposed for row in step.bars)


def test_a_recording_that_explains_nothing_is_refused(events):
    with pytest.raises(NoTour):
        steps_of([e for e in events if getattr(e, "round_index", 0) == 0])
    kept = [
        replace(e, tokens=e.tokens[:-1]) if isinstance(e, RoundFinished) else e
        for e in events
        if not isinstance(e, RoundFinished) or len(e.tokens) > 1
    ]
    with pytest.raises(NoTour):
        steps_of(kept)


@pytest.mark.parametrize("name", ["dark", "light"])
def test_arrows_turn_the_pages_and_nothing_moves(qtbot, qapp, steps, name):
    theme.apply(qapp, name)
    tour = Tour(steps)
    qtbot.addWidget(tour)
    tour.show()
    qtbot.waitExposed(tour)
    places = []
    for step in steps:
        assert tour._title.text() == step.stage.name.capitalize()
        assert step.words in tour.accessibleDescription()
        assert tour.strip.accessibleDescription()
        needed = tour._words.heightForWidth(tour._words.width())
        assert needed <= tour._words.height()  # no words are cut
        places.append((tour.strip.geometry(), tour.bars.geometry(), tour.back.y()))
        qtbot.keyClick(tour, Qt.Key.Key_Right)
    assert len(set(map(str, places))) == 1
    assert tour.index == len(steps) - 1
    qtbot.keyClick(tour, Qt.Key.Key_Left)
    assert tour.index == len(steps) - 2
    tour.next.click()
    tour.next.click()
    assert not tour.isVisible()


def test_an_empty_lane_offers_the_tour_to_somebody_new(qtbot):
    lane, plain = LaneView(Lane.SPECULATIVE), LaneView(Lane.PLAIN)
    qtbot.addWidget(lane)
    qtbot.addWidget(plain)
    with qtbot.waitSignal(lane.tour_asked):
        lane.tour.click()
    assert plain.tour.isHidden()


def test_the_recording_names_no_place_of_the_machine_it_was_made_on():
    text = resources.text(TOUR)
    assert "/home/" not in text
    assert "/tmp/" not in text
