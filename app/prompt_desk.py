"""Counts the prompt's tokens, once a tokenizer is loaded and nothing runs."""

from __future__ import annotations

from PySide6.QtCore import QObject, Slot

from app.errands import Errands
from app.panels.prompt_panel import PromptPanel
from app.run_controller import RunController
from core.config import DecodingRequest


class PromptDesk(QObject):
    """Between the prompt panel and the loaded tokenizer.

    Signals:
        none.
    """

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
            "count", panel.text(), use_chat_template=panel.uses_template()
        )
        self._errands.ask("tokens", self._controller.token_question(request))

    @Slot(str, object)
    def _on_answered(self, key: str, value: object) -> None:
        if key == "tokens":
            assert isinstance(value, tuple)
            self._panel.show_tokens(value)

    @Slot(str, object)
    def _on_failed(self, key: str, failure: object) -> None:
        if key == "tokens":
            self._panel.show_tokens(None)
