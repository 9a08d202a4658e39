"""Where there is little room: shorter words, fewer numbers, nothing that jumps."""

from __future__ import annotations

from itertools import pairwise

import pytest
from PySide6.QtWidgets import QApplication, QLabel
from story import finished, plain_rounds, race_finished, speculative_round, started

from app import theme
from app.jobs import State
from app.panels.top_bar import TopBar
from app.theme import NAMES, Theme, contrast
from app.views.elided import ElidedLabel
from app.views.lane_view import NARROWEST, LaneView
from app.views.pick_view import PickView
from app.views.places_model import HEADINGS
from app.views.plot_table import PlotTable
from app.views.plots_panel import PlotsPanel
from app.views.round_inspector import RoundInspector
from app.views.rules_panel import RulesPanel
from app.views.stage_lane import StageLane
from app.views.sweep_choice import SweepChoice
from app.views.verdict_bar import VerdictBar
from core.events import JudgedSpeed, Lane
from core.lab.rules import RuleFigures

pytestmark = pytest.mark.window
REFUSED = speculative_round(16, 40, [" for", " _", " range"], " enumerate")
LARGEST = 17  # points: nine and the eight steps of Larger type


@pytest.fixture
def larger(qapp):
    """Show everything in the largest type, and take that back."""
    before = qapp.font()
    font = qapp.font()
    font.setPointSizeF(LARGEST)
    qapp.setFont(font)
    theme.apply(qapp, "light")
    yield font
    qapp.setFont(before)
    theme.apply(qapp, "dark")


def resize(view, width: int) -> None:
    view.window().resize(width, view.height())
    QApplication.processEvents()


def test_the_first_text_that_has_room_is_shown(show):
    label = show(ElidedLabel(), 400, 60)
    label.setText("one two three four five six")
    label.set_shorter("one two three", "", "one")
    metrics = label.fontMetrics()
    assert label.shown() == label.text()
    resize(label, metrics.horizontalAdvance("one two three") + 2)
    assert label.shown() == "one two three"
    resize(label, metrics.horizontalAdvance("one tw"))
    assert label.shown() == "one"
    label.set_lines(3)
    assert label.shown() == "one two three"  # each word in a line of its own


def test_a_label_is_as_high_without_a_text_as_with_one(show):
    label = show(ElidedLabel(), 400, 60)
    font = label.font()
    for points in range(8, 32):
        font.setPointSizeF(points)
        label.setFont(font)
        label.setText("")
        empty = label.sizeHint().height()
        label.setText("Words")
        assert label.sizeHint().height() == empty, points


@pytest.mark.parametrize("factor", [1.0, 1.3, 1.5, 2.2])
def test_nothing_on_the_stage_moves_when_a_race_begins(show, factor):
    lane = show(StageLane(Lane.SPECULATIVE), 700, 400)
    lane.set_factor(factor)
    QApplication.processEvents()
    before = lane.tokens.geometry()
    lane.on_event(started())
    lane.on_event(speculative_round(0, 0, ["a", "b"], None, clock_ms=100.0))
    QApplication.processEvents()
    assert lane.tokens.geometry() == before


@pytest.mark.parametrize("lane", list(Lane))
def test_a_narrow_lane_names_itself(show, rounds, lane):
    view = show(LaneView(lane), NARROWEST, 300)
    view.on_event(started(lane))
    for event in rounds if lane is Lane.SPECULATIVE else plain_rounds():
        view.on_event(event)
    QApplication.processEvents()
    title = view.header._title
    assert title.shown() == ("K = 4" if lane is Lane.SPECULATIVE else "Plain")
    assert title.fontMetrics().horizontalAdvance(title.shown()) <= title.width()
    assert view.header._line.shown().endswith(" s")
    resize(view, 420)
    assert title.shown() == title.text()


def test_in_the_largest_type_the_rate_goes_below_the_title(larger, show, rounds):
    lane = show(LaneView(Lane.SPECULATIVE), 220, 300)
    for event in (started(), *rounds):
        lane.on_event(event)
    QApplication.processEvents()
    header = lane.header
    assert header._rate.y() > header._title.y() + header._title.height() - 1
    shown = header._title.shown()
    assert header._title.fontMetrics().horizontalAdvance(shown) <= header._title.width()
    resize(lane, 600)
    assert header._rate.x() > header._title.x()


def test_a_lane_that_ended_says_why_also_where_it_is_narrow(show, rounds):
    lane = show(LaneView(Lane.SPECULATIVE), NARROWEST, 300)
    for event in (started(), *rounds, finished(rounds)):
        lane.on_event(event)
    QApplication.processEvents()
    ending = lane.header._line.text().split(" · ")[-1]
    assert lane.header._line.shown().endswith(ending)


def test_a_narrow_table_of_proposals_keeps_the_verdict(show):
    inspector = show(RoundInspector(), 700, 220)
    inspector.show_round(REFUSED, 3)
    header = inspector.table.horizontalHeader()
    verdict = HEADINGS.index("verdict")
    assert not any(map(header.isSectionHidden, range(len(HEADINGS))))
    resize(inspector, 420)
    assert header.isSectionHidden(HEADINGS.index("min(1, t/d)"))
    right = header.sectionViewportPosition(verdict) + header.sectionSize(verdict)
    assert right <= inspector.table.viewport().width()
    resize(inspector, 700)
    assert not any(map(header.isSectionHidden, range(len(HEADINGS))))


def test_the_bars_of_candidates_give_way_to_the_table_in_the_largest_type(larger, show):
    inspector = show(RoundInspector(), 450, 200)
    inspector.show_round(REFUSED, 3)
    QApplication.processEvents()
    assert not inspector.bars.isVisible()
    resize(inspector, 900)
    assert inspector.bars.isVisible()


def test_in_the_smallest_window_a_round_has_table_and_bars(show):
    inspector = show(RoundInspector(), 360, 200)
    inspector.show_round(REFUSED, 3)
    QApplication.processEvents()
    assert inspector.bars.isVisible()


def test_in_the_largest_type_the_verdict_is_still_whole(larger, show):
    bar = show(VerdictBar(), 450, 100)
    bar.on_event(race_finished(JudgedSpeed.HELPS, identical=True))
    QApplication.processEvents()
    shown = bar._headline.shown()
    assert shown.startswith("faster than plain")
    assert shown.endswith("same tokens")
    assert " ".join(bar._headline._broken(shown)) == shown
    assert " ".join(bar._detail._broken(bar._detail.shown())) == bar._detail.shown()


def test_no_status_makes_the_window_wider(show):
    bar = show(TopBar(), 700, 60)
    bar.show_status("Ready")
    before = bar.minimumSizeHint().width()
    bar.show_status("Race · warm-up, not counted · " * 5)
    assert bar.minimumSizeHint().width() <= before


def test_no_button_moves_when_a_run_is_held(show):
    bar = show(TopBar(), 900, 60)
    places = []
    for state in (State.RUNNING, State.PAUSED):
        bar.show_state(state)
        QApplication.processEvents()
        places.append([b.geometry() for b in (bar.pause, bar.step, bar.stop)])
    assert bar.pause.text() == "Resume"
    assert places[0] == places[1]


def test_the_words_of_empty_plots_stand_beside_the_axes(larger, show):
    panel = show(PlotsPanel(), 330, 900)
    panel.refresh()
    QApplication.processEvents()
    for card in panel.cards:
        axis = card._item.getAxis("left")
        assert card._empty.x() >= axis.width()


def test_markers_of_a_short_series_are_apart(show, rounds):
    panel = show(PlotsPanel(), 330, 900)
    for event in (started(), *rounds):
        panel.on_event(event)
    panel.refresh()
    panel.show_rounds({Lane.SPECULATIVE: 6})
    source = panel.cards[0].source
    source.draw()
    left, right = panel.cards[0]._item.getViewBox().viewRange()[0]
    x = sorted(source._curves[0]._markers.getData()[0])
    assert len(x)
    gaps = [b - a for a, b in pairwise(x)]
    # To the next round's end: the rounds are of several tokens.
    assert all(gap >= (right - left) / 12 - 5 for gap in gaps)
    assert len(x) < 7


def test_no_heading_of_a_table_of_numbers_is_cut(qtbot):
    headings = ("K", "tokens/s PREDICTED", "tokens a round", "ms a round", "speed-up")
    dialog = PlotTable("Predicted", (headings, [(0, 1.0, 1.0, 1.0, 1.0)]))
    qtbot.addWidget(dialog)
    dialog.show()
    header = dialog.table.horizontalHeader()
    for column in range(len(headings)):
        assert header.sectionSize(column) >= header.sectionSizeHint(column)
    assert dialog.table.horizontalScrollBar().maximum() == 0


def test_the_headings_of_rules_stand_over_their_numbers(qtbot):
    panel = RulesPanel()
    qtbot.addWidget(panel)
    last = panel.table.columnCount() - 1
    found = (RuleFigures("Chen", True, "Keeps.", 30, 0.5, 0.02, 2.0),)
    panel.show_figures(found)
    heading = panel.table.horizontalHeaderItem(last).textAlignment()
    assert heading == panel.table.item(0, last).textAlignment()


def test_the_choice_of_a_sweep_fits_in_the_largest_type(larger, qtbot):
    choice = SweepChoice()
    qtbot.addWidget(choice)
    choice.show()
    QApplication.processEvents()
    # A window of 1280 less the list of experiments, margins and a scroll bar.
    label = QLabel("Exactness and so on")
    beside = label.sizeHint().width() + 2 * 16
    room = 1280 - beside - 3 * 16 - 2 * 16 - 10
    assert choice.minimumSizeHint().width() <= room


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_bar_does_not_look_full(name):
    each = Theme.load(name)
    track, accent = each.color("track"), each.color("accent")
    assert contrast(accent, track) >= 3
    surface = each.color("surface")
    assert contrast(track, surface) < contrast(accent, surface)


def test_the_picker_leaves_columns_out_before_it_cuts_names(show):
    view = show(PickView(), 900, 300)
    letter = view.fontMetrics().averageCharWidth()
    assert not view.isColumnHidden(1)
    resize(view, 66 * letter)  # the list of a dialog that fills a screen of 800
    assert view.isColumnHidden(1)
    assert not view.isColumnHidden(2)
