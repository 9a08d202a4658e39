"""Running, racing and steering from the window."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt

from app.jobs import State
from app.panels.prompt_panel import PromptPanel
from core.events import Lane
from tests.app.started import banners, hold, rounds

pytestmark = pytest.mark.window


def test_one_click_on_race_runs_it_to_the_verdict(qtbot, application, window):
    with qtbot.waitSignal(application.controller.finished, timeout=10_000):
        qtbot.mouseClick(window.bar.race, Qt.MouseButton.LeftButton)
    assert window.bar.status.text() == "Race finished"
    assert window.bar.badge.text() == "MEASURED"
    assert all(lane.isVisible() for lane in window.page.lanes.values())
    assert not banners(window)


def test_a_single_run_shows_one_lane(qtbot, application, window):
    with qtbot.waitSignal(application.controller.finished):
        qtbot.keyClick(window, Qt.Key.Key_F5)
    assert window.page.lanes[Lane.SPECULATIVE].isVisible()
    assert not window.page.lanes[Lane.PLAIN].isVisible()
    assert "length reached" in window.bar.status.text()


def test_the_bar_offers_only_what_can_be_done(qtbot, application, window, session):
    bar = window.bar
    assert bar.race.isEnabled()
    assert not bar.pause.isEnabled()
    hold(qtbot, session, window)
    assert not bar.race.isEnabled()
    assert bar.stop.isEnabled()
    bar.pause.click()
    assert bar.pause.text() == "Resume"
    with qtbot.waitSignal(application.controller.finished):
        bar.stop.click()
    assert bar.race.isEnabled()


def test_space_pauses_where_nobody_types(qtbot, application, window, session):
    hold(qtbot, session, window)
    window.setFocus()
    qtbot.keyClick(window, Qt.Key.Key_Space)
    assert application.controller.state is State.PAUSED
    qtbot.keyClick(window, Qt.Key.Key_Space)
    assert application.controller.state is State.RUNNING
    with qtbot.waitSignal(application.controller.finished):
        session.release()


def test_space_in_the_prompt_is_a_space(qtbot, window):
    editor = window.page.prompt.editor
    editor.clear()
    qtbot.keyClicks(editor, "a b")
    assert editor.toPlainText() == "a b"


def test_step_from_idle_does_the_first_round_and_holds(qtbot, application, window):
    window.run_desk.step()
    qtbot.waitUntil(lambda: rounds(window) == 1)
    assert application.controller.state is State.PAUSED
    window.run_desk.step()
    qtbot.waitUntil(lambda: rounds(window) == 2)
    assert window.page._shown == (Lane.SPECULATIVE, 1)
    window.page.scrub(-1)
    assert window.page._shown == (Lane.SPECULATIVE, 0)


def test_a_live_change_of_k_reaches_the_running_generation(
    qtbot, application, window, session
):
    hold(qtbot, session, window)
    window.page.decoding.field("lookahead").box.setValue(9)
    with qtbot.waitSignal(application.controller.finished):
        session.release()
    assert session.settings_seen[-1].lookahead == 9


def test_while_running_fixed_settings_say_why_they_are_locked(
    qtbot, application, window, session
):
    hold(qtbot, session, window)
    seed = window.page.decoding.field("seed").box
    assert not seed.isEnabled()
    assert "next run" in seed.toolTip()
    assert window.page.decoding.field("temperature").box.isEnabled()
    with qtbot.waitSignal(application.controller.finished):
        session.release()
    assert seed.isEnabled()


def test_a_race_locks_all_but_k(qtbot, application, window, session):
    hold(qtbot, session, window, begin="race")
    fields = window.page.decoding._fields
    free = [n for n, f in fields.items() if f.isEnabled()]
    assert set(free) == {"lookahead", "auto_lookahead"}
    assert "next race" in fields["temperature"].box.toolTip()
    with qtbot.waitSignal(application.controller.finished, timeout=10_000):
        session.release()


def test_token_ids_are_shown_once_a_tokenizer_is_loaded(qtbot, application, window):
    panel: PromptPanel = window.page.prompt
    panel.set_prompt("one two three", False)
    assert "once the pair is loaded" in panel.count.text()
    with qtbot.waitSignal(application.controller.finished):
        window.run_desk.load_pair()
    qtbot.waitUntil(lambda: panel.count.text() == "3 tokens")
    panel.show_ids.click()
    assert "'two'" in panel.ids.toPlainText()
