"""What the window's options ask for: a chosen pair, an autorun, a picture, the exit."""

from __future__ import annotations

import argparse
import dataclasses
import logging
import sys
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Slot
from PySide6.QtWidgets import QApplication

from app.options import decoding_settings
from app.settings import AppSettings
from core.config import DrafterKind, ModelConfig, PairConfig

if TYPE_CHECKING:
    from app.application import Application

logger = logging.getLogger(__name__)

SETTLE_MS = 400  # views paint on their own timers; the picture is taken after them
DONE, FAILED, BAD_INPUT = 0, 1, 2


def with_options(
    values: AppSettings, options: argparse.Namespace | None
) -> AppSettings:
    """Return the settings as the options of this start change them."""
    if options is None:
        return values
    changes: dict[str, object] = {"decoding": _decoding(values, options)}
    if options.theme:
        changes["theme"] = options.theme
    if options.prompt is not None:
        changes["prompt"] = options.prompt
    if options.target or options.draft:
        changes["pair"] = _pair(values.pair, options)
    if options.size:
        changes["geometry"] = b""
    return dataclasses.replace(values, **changes)


def _decoding(values: AppSettings, options: argparse.Namespace) -> object:
    return dataclasses.replace(values.decoding, **decoding_settings(options))


def _pair(before: PairConfig, options: argparse.Namespace) -> PairConfig:
    target = before.target
    if options.target:
        target = ModelConfig(options.target, target.device, target.dtype)
    if not options.draft:
        return dataclasses.replace(before, target=target)
    if options.draft in (DrafterKind.LOOKUP, DrafterKind.NONE):
        return PairConfig(target, DrafterKind(options.draft))
    draft = ModelConfig(options.draft, target.device, target.dtype)
    return PairConfig(target, DrafterKind.CHECKPOINT, draft)


class ScriptedStart(QObject):
    """Follow the options once the window shows.

    Signals:
        none.
    """

    def __init__(self, application: Application, options: argparse.Namespace) -> None:
        super().__init__(application)
        self._window, self._options = application.window, options
        self.exit_code = DONE
        self._begun = self._settling = False
        application.controller.finished.connect(self._on_finished)
        application.controller.failed.connect(self._on_failed)
        application.controller.crashed.connect(self._on_crashed)
        self._window.traces.failed.connect(self._on_failed)
        self._window.pair_desk.looked.connect(self._on_looked)
        if options.size:
            self._window.resize(*options.size)

    @Slot()
    def _on_looked(self) -> None:
        """Begin once it is known what is on this computer."""
        if self._begun:
            return
        self._begun = True
        if self._options.open:
            self._window.traces.open_path(str(self._options.open))
        elif self._options.autorun == "race":
            self._window.run_desk.race()
        elif self._options.autorun == "run":
            self._window.run_desk.run()
        idle = not self._window.is_busy() and not self._options.open
        if idle:
            # Asked to begin and could not: the demo is missing, or there is no drafter.
            self.exit_code = BAD_INPUT if self._options.autorun else DONE
            for banner in self._window.page.banners.banners():
                self._say(banner.sentence.text())
            self._on_finished()

    @Slot()
    def _on_finished(self) -> None:
        if self._begun and not self._settling:
            self._settling = True
            QTimer.singleShot(SETTLE_MS, self._on_settled)

    @Slot(str, str)
    def _on_failed(self, sentence: str, detail: str) -> None:
        logger.error("scripted start failed: %s", sentence)
        self._say(sentence)
        self.exit_code = BAD_INPUT
        self._on_finished()

    def _say(self, sentence: str) -> None:
        """Print what a window that leaves by itself leaves nobody time to read."""
        if self._options.quit:
            sys.stderr.write(f"draftrace: {sentence}\n")

    @Slot(object)
    def _on_crashed(self, failure: object) -> None:
        self.exit_code = FAILED

    @Slot()
    def _on_settled(self) -> None:
        if self._options.screenshot:
            QApplication.processEvents()
            self._window.grab().save(str(self._options.screenshot))
        if self._options.quit:
            self._window.close()
