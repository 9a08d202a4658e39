"""Closing the window while something runs."""

from __future__ import annotations

import threading

import pytest

from app import settings as stored
from core.config import DecodingConfig, DrafterKind, ModelConfig, PairConfig
from core.events import LoadProgress
from tests.app.started import banners, hold, settings_in

pytestmark = pytest.mark.window


def test_closing_while_running_stops_and_saves(
    qtbot, application, window, session, tmp_path
):
    hold(qtbot, session, window)
    window.page.prompt.set_prompt("kept", False)
    window.page.decoding.set_config(DecodingConfig(lookahead=6))
    with qtbot.waitSignal(window.closed):
        window.close()
    kept = stored.load(settings_in(tmp_path))
    assert (kept.prompt, kept.use_chat_template) == ("kept", False)
    assert kept.decoding.lookahead == 6
    assert kept.pair == PairConfig(ModelConfig("here"), DrafterKind.LOOKUP)


def test_closing_twice_leaves_at_once(qtbot, application, window, session, monkeypatch):
    """A step that cannot be interrupted must not keep anybody waiting."""
    left: list[int] = []
    monkeypatch.setattr("app.application.os._exit", left.append)
    monkeypatch.setattr("app.application.logging.shutdown", lambda: None)
    session.deaf = True
    hold(qtbot, session, window)
    window.close()
    assert window.isVisible()
    window.close()
    assert left == [0]
    with qtbot.waitSignal(window.closed):
        session.release()


def test_a_step_that_outlasts_our_patience_is_left(
    qtbot, application, window, session, monkeypatch
):
    """Decoding writes nothing, so nobody has to wait for a long pass to end."""
    left: list[int] = []
    monkeypatch.setattr("app.application.os._exit", left.append)
    monkeypatch.setattr("app.application.logging.shutdown", lambda: None)
    session.deaf = True
    hold(qtbot, session, window)
    window.leaving.patience.setInterval(1)
    with qtbot.waitSignal(window.leaving.patience.timeout):
        window.close()
    assert left == [0]
    with qtbot.waitSignal(window.closed):
        session.release()


def test_a_load_that_outlasts_our_patience_is_named(
    qtbot, application, window, session, monkeypatch
):
    go = threading.Event()

    def load(pair, control):
        yield LoadProgress("Reading the scripted target", 0.3, "")
        session.held.set()
        go.wait(10)

    monkeypatch.setattr(session, "load", load)
    window.run_desk.run()  # which loads first
    qtbot.waitUntil(session.held.is_set)
    window.leaving.patience.setInterval(1)
    with qtbot.waitSignal(window.leaving.patience.timeout):
        window.close()
    assert "still being loaded" in banners(window)[0]
    with qtbot.waitSignal(window.closed):
        go.set()
