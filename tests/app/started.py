"""A whole program over a scripted session, for the tests of window and pages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PySide6.QtCore import QSettings

from app import settings as stored
from app.application import Application
from app.jobs import State
from app.main_window import MainWindow
from core.config import DrafterKind, ModelConfig, PairConfig
from core.events import RoundFinished
from tests.fakes import ScriptedSession


@contextmanager
def started(
    qtbot: Any,
    qapp: Any,
    session: Any,
    folder: Path,
    monkeypatch: Any,
    drafter: DrafterKind = DrafterKind.LOOKUP,
    **more: Any,
) -> Iterator[Application]:
    """Start the program with a pair, and close it so that no thread is left.

    ``more`` are other settings that it finds. A test may have closed it itself.
    """
    # Looking for devices imports torch. On a busy machine that outlasts the patience
    # of closing, and the window leaves with exit code 0 in the middle of the tests.
    monkeypatch.setattr("app.application.CALM_MS", 3_600_000)
    ini = settings_in(folder)
    pair = PairConfig(ModelConfig("here"), drafter)
    stored.save(ini, stored.AppSettings(pair=pair, **more))
    application = Application(qapp, session, ini)
    with qtbot.waitSignal(application.window.pair_desk.looked):
        application.start()
    yield application
    if not application.window.leaving.is_begun:
        with qtbot.waitSignal(application.window.closed):
            application.window.close()
    assert application.controller.wait(3000)
    assert application.errands.close()


def settings_in(folder: Path) -> QSettings:
    """Return the stored settings of the program that was started over a folder."""
    return QSettings(str(folder / "window.ini"), QSettings.Format.IniFormat)


def hold(
    qtbot: Any,
    session: ScriptedSession,
    window: MainWindow,
    before: int = 2,
    begin: str = "run",
) -> None:
    """Begin a run or race and wait until its worker holds before a round."""
    session.hold_before = before
    getattr(window.run_desk, begin)()
    qtbot.waitUntil(session.held.is_set)
    qtbot.waitUntil(lambda: window._controller.state is State.RUNNING)


def rounds(window: MainWindow) -> int:
    """Return how many rounds the present run has."""
    events = window.traces.desk.events
    return sum(isinstance(event, RoundFinished) for event in events)


def banners(window: MainWindow) -> list[str]:
    """Return the sentences that stand on the Decode page."""
    return [banner.sentence.text() for banner in window.page.banners.banners()]
