"""Runs saved, opened and played again in the window."""

from __future__ import annotations

import pytest

from core.events import Lane
from tests.app.started import banners
from tests.fakes import ScriptedSession

pytestmark = pytest.mark.window


def test_a_saved_race_plays_again_without_a_session(
    qtbot, application, window, session, tmp_path
):
    with qtbot.waitSignal(application.controller.finished, timeout=10_000):
        window.run_desk.race()
    before = window.traces.desk.events
    path = tmp_path / "race.jsonl"
    with qtbot.waitSignal(window.traces.noted):
        window.traces.save_path(str(path))
    with qtbot.waitSignal(application.controller.finished):
        window.traces.open_path(str(path))
    assert window.bar.badge.text() == "RECORDED"
    assert window.traces.desk.events == before
    assert len(session.loads) == 1


def test_a_replay_does_not_say_that_a_model_is_loaded(
    qtbot, application, window, session, tmp_path, monkeypatch
):
    with qtbot.waitSignal(application.controller.finished):
        window.run_desk.run()
    path = tmp_path / "run.jsonl"
    with qtbot.waitSignal(window.traces.noted):
        window.traces.save_path(str(path))
    said: list[object] = []
    monkeypatch.setattr(window.page.pair, "show_loaded", said.append)
    with qtbot.waitSignal(application.controller.finished):
        window.traces.open_path(str(path))
    assert said == []


def test_a_file_that_is_no_trace_is_a_banner(qtbot, window, tmp_path):
    path = tmp_path / "letter.jsonl"
    path.write_text("Dear reader,\n")
    with qtbot.waitSignal(window.traces.failed):
        window.traces.open_path(str(path))
    assert "not a Draftrace trace" in banners(window)[0]


def test_the_recorded_demo_opens_without_a_model(
    qtbot, application, window, monkeypatch
):
    def refuse(*arguments, **more):
        raise AssertionError("a replay must not load or decode")

    for job in ("load", "run", "race"):
        monkeypatch.setattr(ScriptedSession, job, refuse)
    with qtbot.waitSignal(application.controller.finished, timeout=20_000):
        window.actions_["open_demo"].trigger()
    assert window.bar.badge.text() == "RECORDED"
    fast = window.page.lanes[Lane.SPECULATIVE].tokens
    assert len(fast.toPlainText()) > 100
    assert window.page.lanes[Lane.PLAIN].isVisible()
