"""The pages Lab and Present in the whole window, with a session that plays a script."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt

import resources
from app.event_log import EventLog
from app.jobs import State
from app.present_page import PresentPage
from app.take import take_of
from app.theme import Theme
from app.trace_actions import DEMO
from core.config import DrafterKind, ModelConfig, PairConfig
from core.errors import DeviceMemoryError
from core.events import Lane, RaceFinished, RepeatFinished, RoundFinished
from core.lab.checks import Check, CheckFinished, ChecksFinished, CheckStarted
from core.lab.mistakes import MISTAKES
from core.lab.rules import CHEN, GREEDY, MATCH, SHARED, LawsStarted, LawsSummed, RuleLaw
from core.trace import read_trace
from tests.app.started import started
from tests.fakes import ScriptedSession

pytestmark = pytest.mark.window
NAMES = ("the same tokens", "the law, sampled")


LAWS = (
    RuleLaw(CHEN, True, 2e-16, 0.81),
    RuleLaw(SHARED, True, 1e-16, 0.72),
    RuleLaw(MATCH, True, 0.0, 0.44),
    RuleLaw(GREEDY, False, 0.134, 0.6),
)


class CheckedSession(ScriptedSession):
    """Checks by script: a mutant makes the second check fail."""

    def sum_laws(self, request, control):
        yield LawsStarted()
        self._before(0, control)
        if not control.should_stop():
            yield LawsSummed(LAWS, 512, 3, 0.8)

    def verify(self, request, control, *, mutant=None):
        done = []
        for number, name in enumerate(NAMES):
            yield CheckStarted(name, number / 2)
            self._before(number, control)
            if control.should_stop():
                break
            passed = not (mutant and number)
            done.append(Check(name, passed, 3.5, 0.2, 900, 0.99, 1.5, f"{name}, yes."))
            yield CheckFinished(done[-1])
        whole = len(done) == len(NAMES)
        passed = whole and all(check.passed for check in done)
        yield ChecksFinished(tuple(done), passed, control.should_stop())


@pytest.fixture
def session():
    return CheckedSession()


@pytest.fixture
def application(qtbot, qapp, session, tmp_path, monkeypatch):
    monkeypatch.setattr("app.present_page.COUNT_FROM", 1)
    with started(
        qtbot, qapp, session, tmp_path, monkeypatch, prompt="Say it."
    ) as application:
        yield application


@pytest.fixture
def window(application):
    return application.window


@pytest.fixture(scope="module")
def demo():
    return read_trace(resources.path(DEMO)).events


# The lab ------------------------------------------------------------------------------


def test_checks_come_one_by_one_and_end_in_a_verdict(qtbot, application, window):
    panel = window.lab_desk.exactness
    with qtbot.waitSignal(application.controller.finished):
        panel.verify.click()
    assert [c.name for c in panel.checks.checks] == list(NAMES)
    shown = [panel.checks.index(1, column).data() for column in range(7)]
    row = ["The law, sampled", "✓ PASS", "3.5", "0.2", "900", "0.990", "1.50 s"]
    assert shown == row
    assert panel.outcome.text().startswith("Lossless: 2 checks")
    assert panel.detail.text() == "the law, sampled, yes."
    assert window.bar.status.text().startswith("Lossless")
    assert not window.traces.desk.has_run
    assert panel.verify.isEnabled()


def test_a_broken_rule_is_labelled_and_its_failure_is_what_should_happen(
    qtbot, application, window
):
    panel = window.lab_desk.exactness
    panel.rule.setCurrentIndex(1)
    assert "broken on purpose" in panel.lesson.text()
    assert MISTAKES[0].lesson in panel.lesson.text()
    with qtbot.waitSignal(application.controller.finished):
        panel.verify.click()
    assert panel.outcome.text() == "Noticed, as it must be: 1 of 2 checks fail."
    assert panel.checks.index(1, 1).data() == "✗ FAIL"
    panel.rule.setCurrentIndex(0)
    assert not panel.checks.checks  # they must not stand under the right rule


def test_checks_can_be_cancelled_and_give_no_verdict(
    qtbot, application, window, session
):
    panel, session.hold_before = window.lab_desk.exactness, 1
    panel.verify.click()
    qtbot.waitUntil(session.held.is_set)
    qtbot.waitUntil(lambda: application.controller.state is State.WORKING)
    assert not window.bar.pause.isEnabled()
    with qtbot.waitSignal(application.controller.finished):
        panel.cancel.click()
    assert "no verdict" in panel.outcome.text()
    assert len(panel.checks.checks) == 1


def test_what_cannot_be_checked_is_refused_on_the_lab_page(
    qtbot, application, window, session
):
    panel, banners = window.lab_desk.exactness, window.lab.banners

    def sentences():
        return [b.sentence.text() for b in banners.banners()]

    window.page.pair.set_pair(PairConfig(ModelConfig("here"), DrafterKind.NONE))
    panel.verify.click()
    assert "needs a drafter" in sentences()[0]
    window.page.pair.set_pair(PairConfig(ModelConfig("here"), DrafterKind.LOOKUP))
    session.load_error = DeviceMemoryError("It needs 9 GB and 2 GB are free.")
    with qtbot.waitSignal(application.controller.finished):
        panel.verify.click()
    assert sentences() == ["It needs 9 GB and 2 GB are free."]
    assert not window.page.banners.banners()
    assert panel.outcome.text().startswith("Nothing is checked")


def test_every_mistake_that_is_offered_is_a_mutant_of_the_core():
    from core.lab.mutants import MUTANTS

    assert {m.mutant for m in MISTAKES} <= set(MUTANTS)


# The stage ----------------------------------------------------------------------------


def test_a_take_is_the_counted_repeat_nearest_to_the_median(demo):
    take = take_of(demo)
    race = demo[-1]
    assert isinstance(race, RaceFinished)
    speedups = {e.repeat: e.speedup for e in demo if isinstance(e, RepeatFinished)}
    repeat = take.started[Lane.PLAIN].repeat
    gaps = {n: abs(s - race.speedup.median) for n, s in speedups.items()}
    assert gaps[repeat] == min(gaps.values())
    clocks = [e.clock_ms for e in take.rounds]
    assert clocks == sorted(clocks)
    assert {e.lane for e in take.rounds} == set(Lane)
    spoiled = [
        replace(e, counted=False) if isinstance(e, RepeatFinished) else e for e in demo
    ]
    assert take_of(spoiled) is None
    assert take_of(demo[:40]) is None


def test_without_a_model_the_recorded_race_plays_at_true_speed(
    qtbot, application, window, demo
):
    window.actions_["present"].trigger()
    page: PresentPage = window.present
    assert page.chosen_source() == "demo"
    assert page.badge.text() == "RECORDED"
    qtbot.keyClick(page, Qt.Key.Key_Space)
    assert page._countdown.text() == "1"
    qtbot.waitUntil(lambda: page._player.is_running, timeout=10_000)
    begin = time.perf_counter()
    qtbot.waitUntil(lambda: not page.is_playing, timeout=20_000)
    take = take_of(demo)
    assert 1000 * (time.perf_counter() - begin) > take.rounds[-1].clock_ms * 0.9
    for lane, view in page.lanes.items():
        assert view.tokens.shown_text() == take.finished[lane].summary.text
        assert view.words()[2].endswith("finished")
    faster = f"{demo[-1].speedup.median:.2f}× faster than plain"
    assert page._words.text() == f"{faster}, and the very same tokens."
    assert not any(isinstance(e, RoundFinished) for e in window.traces.desk.events)


def test_escape_leaves_the_stage_and_stops_elsewhere(qtbot, application, window):
    window.activateWindow()
    window.actions_["present"].trigger()
    assert window.actions_["leave"].isEnabled()
    assert not window.actions_["stop"].shortcut().toString()
    window.present.start.click()
    window.actions_["leave"].trigger()
    assert window.pages.currentWidget() is window.page
    assert not window.present.is_playing
    assert window.actions_["stop"].shortcut().toString() == "Esc"


def test_full_screen_shows_the_stage_and_nothing_else(qtbot, application, window):
    window.actions_["present"].trigger()
    window.actions_["full_screen"].trigger()
    assert window.isFullScreen()
    assert not window.bar.isVisible()
    assert not window.menuBar().isVisible()
    window.actions_["leave"].trigger()
    assert not window.isFullScreen()
    assert window.bar.isVisible()
    assert window.menuBar().isVisible()


def test_a_live_race_is_shown_as_it_happens(qtbot, application, window, session):
    with qtbot.waitSignal(application.controller.finished):
        window.run_desk.load_pair()
    window.actions_["present"].trigger()
    page = window.present
    assert page.chosen_source() == "live"
    assert page.badge.text() == "MEASURED"
    session.hold_before = 2
    page.start.click()
    qtbot.waitUntil(session.held.is_set, timeout=10_000)
    qtbot.waitUntil(lambda: page._words.text() == "Warming up…")
    assert page.start.text() == "Stop"
    assert "with the draft draft" in page._heading.text()
    with qtbot.waitSignal(application.controller.finished, timeout=10_000):
        session.release()
    assert page.start.text() == "Start"
    assert page._words.text().startswith("1.81× faster than plain")
    assert page.lanes[Lane.PLAIN].words()[2].endswith("finished")
    assert window.page.verdict._figure.text() == "1.81×"  # the Decode page has it too
    assert page.source.model().item(1).isEnabled()  # the last race can be played again
    window.page.prompt.set_prompt("", True)
    page.go.emit()
    assert "Decode page says why" in page._words.text()


# What can be taken along --------------------------------------------------------------


def test_a_report_opens_again_as_the_run_that_it_tells_of(
    qtbot, application, window, tmp_path
):
    with qtbot.waitSignal(application.controller.finished):
        window.run_desk.run()
    before = window.traces.desk.events
    page, profile = tmp_path / "run.html", tmp_path / "run.json"
    with qtbot.waitSignal(window.traces.noted):
        window.traces.report_path(str(page))
    with qtbot.waitSignal(window.traces.noted):
        window.traces.profile_path(str(profile))
    assert "traceEvents" in profile.read_text()
    with qtbot.waitSignal(application.controller.finished):
        window.traces.open_path(str(page))
    assert window.bar.badge.text() == "RECORDED"
    assert window.traces.desk.events == before
    with qtbot.waitSignal(window.traces.failed) as failed:
        window.traces.report_path(str(tmp_path / "none" / "run.html"))
    assert "Cannot write run.html" in failed.args[0]


def test_rules_are_compared_at_the_places_of_the_last_run(qtbot, application, window):
    panel = window.lab_desk.rules
    with qtbot.waitSignal(application.errands.answered):
        panel.compare.click()
    assert panel.note.text().startswith("Nothing was judged yet")
    with qtbot.waitSignal(application.controller.finished):
        window.run_desk.run()
    with qtbot.waitSignal(application.errands.answered):
        panel.compare.click()
    rows = range(panel.table.rowCount())
    shown = {panel.table.item(r, 0).text(): panel.table.item(r, 2).text() for r in rows}
    assert shown["Modified rejection (Chen)"] == "0.80"
    assert shown["Exact match of samples"] == "0.50"
    assert panel.table.item(3, 1).text() == "✗ lossy"
    assert "places judged" in panel.note.text()


def test_a_comparing_that_fails_says_so_and_ends(qtbot, application, window):
    panel, traces = window.lab_desk.rules, window.traces.desk
    with qtbot.waitSignal(application.controller.finished):
        window.run_desk.run()
    with qtbot.waitSignal(application.errands.answered):
        panel.compare.click()
    before = panel.note.text()
    assert "judged" in before
    damaged = EventLog(in_memory=2)
    for event in traces.events:
        damaged.append(event)
    damaged._file.truncate(0)
    traces._log = damaged
    with qtbot.waitSignal(application.errands.failed):
        panel.compare.click()
    assert panel.note.text() == before
    (banner,) = window.lab.banners.banners()
    assert banner.role == "error"


def test_the_laws_of_the_rules_show_what_chens_rule_is_worth(
    qtbot, application, window, session
):
    laws = window.lab_desk.rules.laws
    assert "press Sum the laws" in laws.note.text()
    with qtbot.waitSignal(application.controller.finished):
        laws.button.click()
    rows = range(laws.table.rowCount())
    shown = {
        laws.table.item(r, 0).text(): [laws.table.item(r, c).text() for c in (1, 3)]
        for r in rows
    }
    assert shown[CHEN] == ["0.81", "✓ the target's"]
    assert shown[GREEDY] == ["0.60", "✗ 0.13 away"]
    red = laws.table.item(3, 3).foreground().color()
    assert red == Theme.current().color("error")
    assert "512 texts of 3 tokens at temperature 0.8" in laws.note.text()
    assert "lossy: 13 % of the probability" in laws.said.text()
    assert laws.said.accessibleDescription() == laws.said.text()
    session.load_error = DeviceMemoryError("It needs 9 GB and 2 GB are free.")
    window.page.pair.set_pair(PairConfig(ModelConfig("there"), DrafterKind.LOOKUP))
    with qtbot.waitSignal(application.controller.finished):
        laws.button.click()
    assert "press Sum the laws" in laws.note.text()
    assert laws.button.isEnabled()
