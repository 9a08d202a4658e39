"""A whole program over a scripted session, for the tests of its pages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PySide6.QtCore import QSettings

from app import settings as stored
from app.application import Application
from core.config import DrafterKind, ModelConfig, PairConfig


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

    ``more`` are other settings that it finds.
    """
    # Looking for devices imports torch, which closing would have to wait for.
    monkeypatch.setattr("app.application.CALM_MS", 3_600_000)
    ini = QSettings(str(folder / "window.ini"), QSettings.Format.IniFormat)
    pair = PairConfig(ModelConfig("here"), drafter)
    stored.save(ini, stored.AppSettings(pair=pair, **more))
    application = Application(qapp, session, ini)
    with qtbot.waitSignal(application.window.pair_desk.looked):
        application.start()
    yield application
    with qtbot.waitSignal(application.window.closed):
        application.window.close()
    assert application.controller.wait(3000)
    assert application.errands.close()
