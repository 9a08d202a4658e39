"""Walking through the rounds of a run: every view shows what it showed at the time."""

from __future__ import annotations

import sys
import time

import psutil
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

import resources
from app import theme
from app.decode_page import DecodePage
from app.trace_actions import DEMO
from app.trace_desk import TraceDesk
from core.config import DecodingConfig, DecodingRequest
from core.events import (
    Event,
    Lane,
    RaceFinished,
    RepeatFinished,
    RoundFinished,
    RunFinished,
    RunStarted,
    SettingsChanged,
)
from core.trace import read_trace
from tests.fakes import LaneScript

pytestmark = pytest.mark.window
STEP_MS = 50
MOST_MIB = 100


@pytest.fixture(scope="module")
def recording():
    return read_trace(resources.path(DEMO)).events


class Stage:
    """A page with its trace desk, as the window wires them."""

    def __init__(self, page: DecodePage) -> None:
        self.page, self.desk = page, TraceDesk()
        page.set_recall(self.desk.round_of)

    def feed(self, *events: Event) -> None:
        for event in events:
            self.desk.add(event)
            self.page.on_event(event)

    def offer(self) -> None:
        self.page.replay.set_offered(True)

    def state(self) -> tuple:
        """Return what a person sees: text, headers, and the plots' numbers."""
        lanes = self.page.lanes.values()
        assert self.page.plots is not None
        for card in self.page.plots.cards:
            card.refresh()
        tables = [card.source.table() for card in self.page.plots.cards]
        return (
            [view.tokens.shown_text() for view in lanes],
            [view.header.texts() for view in lanes],
            tables,
        )


@pytest.fixture
def stage(qtbot, qapp):
    theme.apply(qapp, "light")
    page = DecodePage()
    page.add_plots()
    qtbot.addWidget(page)
    page.resize(1280, 700)
    page.show()
    qtbot.waitExposed(page)
    return Stage(page)


def last_runs(events) -> list[Event]:
    """Return the race's first event and those from the last repeat on."""
    starts = [i for i, e in enumerate(events) if isinstance(e, RunStarted)]
    return [events[0], *events[starts[-2] :]]


def test_each_step_back_shows_what_was_shown_live(stage, recording):
    """By the clocks' order, which need not be the one the lanes took turns in."""
    events = last_runs(recording)
    rounds = sorted(
        (e for e in events if isinstance(e, RoundFinished)), key=lambda e: e.clock_ms
    )
    others = [e for e in events if not isinstance(e, RoundFinished)]
    ends = (RunFinished, RepeatFinished, RaceFinished)
    stage.feed(*[e for e in others if not isinstance(e, ends)])
    seen = [stage.state()]
    for event in rounds:
        stage.feed(event)
        seen.append(stage.state())
    stage.feed(*[e for e in others if isinstance(e, ends)])
    stage.offer()
    replay = stage.page.replay
    assert len(replay.timeline) == len(rounds)
    for position in (*range(len(rounds) - 1, -1, -7), *range(3, len(rounds), 11)):
        replay.go_to(position)
        texts, headers, tables = stage.state()
        assert (texts, tables) == (seen[position][0], seen[position][2])
        for now, then in zip(headers, seen[position][1], strict=True):
            # A lane that has all its rounds says, too, how it ended.
            words = now[2].removesuffix(" · length reached")
            assert (*now[:2], words) == then or then[2].startswith("prompt read")


def test_the_keys_of_the_slider_walk_and_its_words_follow(qtbot, stage, recording):
    stage.feed(*recording)
    stage.offer()
    bar, replay = stage.page.scrub_bar, stage.page.replay
    last = len(replay.timeline)
    rounds = replay.timeline.num_rounds(Lane.SPECULATIVE)
    assert bar.where.text().startswith(f"round {rounds} of {rounds}")
    qtbot.keyClick(bar.slider, Qt.Key.Key_Home)
    assert replay.position == 0
    assert bar.slider.accessibleDescription() == f"round 0 of {rounds} · 0.00 s"
    assert not bar.buttons["back"].isEnabled()
    for key in (*[Qt.Key.Key_Right] * 3, Qt.Key.Key_Left):
        qtbot.keyClick(bar.slider, key)
    assert replay.position == 2
    assert stage.page._shown == (Lane.SPECULATIVE, 0), "the first plain one came before"
    qtbot.keyClick(bar.slider, Qt.Key.Key_End)
    assert replay.position == last
    assert "length reached" in stage.page.lanes[Lane.PLAIN].header.texts()[2]
    for name, part in (*bar.buttons.items(), ("slider", bar.slider)):
        assert part.accessibleName(), name


def test_space_plays_from_the_clocks_and_holds(qtbot, stage, recording):
    stage.feed(*recording)
    stage.offer()
    bar, replay = stage.page.scrub_bar, stage.page.replay
    bar.speed.setCurrentText("8×")
    begin = time.perf_counter()
    qtbot.keyClick(bar.slider, Qt.Key.Key_Space)
    assert replay.position < len(replay.timeline)
    assert bar.buttons["play"].accessibleName() == "Hold"
    qtbot.waitUntil(lambda: not replay.is_playing, timeout=10_000)
    assert replay.is_at_end
    assert (
        time.perf_counter() - begin > replay.timeline.clock_ms(replay.position) / 8000
    )
    replay.go_to(3)
    bar.speed.setCurrentText("⅛×")
    qtbot.keyClick(bar.slider, Qt.Key.Key_Space)
    qtbot.keyClick(bar.slider, Qt.Key.Key_Space)
    assert not replay.is_playing
    assert replay.position < 6


def test_a_round_that_comes_brings_the_end_back(stage):
    script = script_of(Lane.SPECULATIVE)
    stage.feed(*script.started())
    for _ in range(6):
        stage.feed(*script.round(script.config))
    stage.offer()
    stage.page.replay.go_to(2)
    tokens = stage.page.lanes[Lane.SPECULATIVE].tokens
    early = tokens.shown_text()
    stage.feed(*script.round(script.config))
    assert tokens.shown_text() == script.text
    assert script.text.startswith(early)
    assert early != script.text


def test_candidates_are_recalled_for_the_inspector_and_the_card(stage):
    script = script_of(Lane.SPECULATIVE)
    stage.feed(*script.started())
    for _ in range(4):
        stage.feed(*script.round(script.config))
    stage.offer()
    stage.page.replay.go_to(2)
    inspected = stage.page.inspector._event
    assert inspected == stage.desk.round_of(Lane.SPECULATIVE, 1)
    assert inspected.places[0].draft_top
    tokens = stage.page.lanes[Lane.SPECULATIVE].tokens
    assert not tokens.map.stops[1].round.places[0].draft_top
    tokens._pointer.point_at(1, by_keys=True)
    assert "target 0." in tokens.accessibleDescription()


@pytest.mark.slow
def test_five_thousand_rounds_are_scrubbed_quickly_within_bounded_memory(stage):
    """Processor time of the window's thread: others may use the machine meanwhile."""
    script, wanted = script_of(Lane.SPECULATIVE), DecodingConfig(temperature=0.5)
    before = psutil.Process().memory_info().rss
    stage.feed(*script.started())
    for index in range(5000):
        stage.feed(*script.round(wanted if index > 2000 else script.config))
    stage.offer()
    assert stage.desk._log.on_disk > 3500
    QApplication.processEvents()
    grown = (psutil.Process().memory_info().rss - before) / 2**20
    assert grown < MOST_MIB  # most of it is the text, drawn token by token
    replay, times = stage.page.replay, []
    for position in (
        *range(4999, 4985, -1),
        *range(2510, 2490, -1),
        *range(2490, 2499),
    ):
        replay.go_to(position)
        QApplication.processEvents()  # paints text, inspector and plots
        times.append(_cost(replay, position - 1))
    times.sort()
    median, worst = times[len(times) // 2], times[-3]
    sys.stdout.write(
        f"\na step of 5,000: {median:.1f} ms, at worst {worst:.1f} ms; "
        f"{grown:.0f} MiB more\n"
    )
    assert median < STEP_MS
    counts = stage.page.plots.cards[1].source.rounds.statistics
    assert counts.counts.rounds == replay.position


def _cost(replay, position: int) -> float:
    begin = time.thread_time()
    replay.go_to(position)
    QApplication.processEvents()
    return 1000 * (time.thread_time() - begin)


def script_of(lane: Lane) -> LaneScript:
    return LaneScript(DecodingRequest("r", "Say it.", DecodingConfig()), lane)


def test_a_change_of_settings_is_counted_from_again(stage):
    """Back before the change, the plots count what was counted then."""
    script = script_of(Lane.SPECULATIVE)
    stage.feed(*script.started())
    for index in range(150):
        wanted = DecodingConfig(lookahead=2 if index >= 100 else 4)
        stage.feed(*script.round(wanted))
    assert any(isinstance(e, SettingsChanged) for e in stage.desk.events)
    stage.offer()
    source = stage.page.plots.cards[1].source
    assert source.note() == "since K 4→2"
    stage.page.replay.go_to(100)
    assert source.note() == ""
    assert source.rounds.statistics.since_change.rounds == 100
    stage.page.replay.go_to(110)
    assert source.note() == "since K 4→2"
    assert source.rounds.statistics.since_change.rounds == 10
