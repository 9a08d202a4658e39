"""Counts the prompt's tokens, and opens files of prompts, off the window's thread."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QFileDialog

from app.errands import Errands
from app.generation_worker import Failure
from app.panels.prompt_panel import PromptPanel
from app.run_controller import RunController
from core.config import DecodingRequest
from core.prompt_files import read_prompts
from core.prompts import Prompt

FILTERS = "Prompts (*.txt *.md *.jsonl *.ndjson);;All files (*)"


class PromptDesk(QObject):
    """Between the prompt panel and the loaded tokenizer.

    Signals:
        failed: the sentence why a file could not be opened.
    """

    failed = Signal(str)

    def __init__(
        self,
        panel: PromptPanel,
        controller: RunController,
        errands: Errands,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._panel, self._controller, self._errands = panel, controller, errands
        panel.changed.connect(self._on_asked)
        panel.file_asked.connect(self._on_file_asked)
        controller.finished.connect(self._on_asked)
        errands.answered.connect(self._on_answered)
        errands.failed.connect(self._on_failed)

    @Slot()
    def _on_asked(self) -> None:
        """Ask for the ids; while a run goes on its tokenizer is not ours to use."""
        if self._controller.loaded_pair is None or self._controller.state.is_busy:
            return
        panel = self._panel
        request = DecodingRequest(
            "count",
            panel.text(),
            use_chat_template=panel.uses_template(),
            system=panel.system_turn(),
        )
        self._errands.ask("tokens", self._controller.token_question(request))

    @Slot(str, object)
    def _on_answered(self, key: str, value: object) -> None:
        if key == "tokens":
            assert isinstance(value, tuple)
            self._panel.show_tokens(value)
        if key == "prompts":
            assert isinstance(value, tuple)
            self._panel.offer_file(*value)

    @Slot(str, object)
    def _on_failed(self, key: str, failure: Failure) -> None:
        if key == "tokens":
            self._panel.show_tokens(None)
        if key == "prompts":
            self.failed.emit(failure.sentence)

    @Slot()
    def _on_file_asked(self) -> None:
        title = "Open a file of prompts"
        window = self._panel.window()
        path, _ = QFileDialog.getOpenFileName(window, title, "", FILTERS)
        if path:
            self.open_file(Path(path))

    def open_file(self, path: Path) -> None:
        """Read the prompts of a file and show the first."""
        self._errands.ask("prompts", partial(_named, path))


def _named(path: Path) -> tuple[str, tuple[Prompt, ...]]:
    return path.name, read_prompts(path)
