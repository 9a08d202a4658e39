"""Between what a person asks for and the controller: race, run, step, load, fetch."""

from __future__ import annotations

import uuid

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QFileDialog

from app.decode_page import DecodePage
from app.jobs import State
from app.pair_desk import PairDesk
from app.run_controller import RunController
from core.config import DecodingConfig, DecodingRequest, DrafterKind
from core.prompts import EMPTY_PROMPT

NO_DRAFTER = "There is nothing to race without a drafter; choose one on the left."
DEMO_FILES = "Demo model (*.whl *.gguf);;All files (*)"


class RunDesk(QObject):
    """Turn buttons and keys into jobs, asking first where something is missing.

    Signals:
        beginning: a run or race is about to begin; the last one leaves the screen.
    """

    beginning = Signal()

    def __init__(
        self,
        page: DecodePage,
        controller: RunController,
        pairs: PairDesk,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._page, self._controller, self._pairs = page, controller, pairs
        page.decoding.changed.connect(self._on_settings_edited)
        page.strip.cancel_asked.connect(controller.stop)
        page.fetch.fetch_asked.connect(self._on_fetch_asked)
        page.fetch.file_asked.connect(self._on_file_asked)
        pairs.demo_missing.connect(self._on_demo_missing)
        controller.finished.connect(self._on_finished)

    @Slot()
    def race(self) -> None:
        """Race the chosen pair on the prompt."""
        if self._page.pair.pair().drafter is DrafterKind.NONE:
            self._page.banners.show_note(NO_DRAFTER)
        elif self._may_decode():
            self.beginning.emit()
            self._controller.race(self._page.pair.pair(), self.request())

    @Slot()
    def run(self) -> None:
        """Decode the prompt once."""
        if self._may_decode():
            self.beginning.emit()
            self._controller.run(self._page.pair.pair(), self.request())

    @Slot()
    def step(self) -> None:
        """Do one round; begin a run with its first if none goes on."""
        if self._controller.state is not State.IDLE:
            self._controller.step()
        elif self._may_decode():
            self.beginning.emit()
            pair, request = self._page.pair.pair(), self.request()
            self._controller.run(pair, request, stepwise=True)

    @Slot()
    def pause_or_resume(self) -> None:
        """Hold, or go on."""
        if self._controller.state is State.PAUSED:
            self._controller.resume()
        else:
            self._controller.pause()

    @Slot()
    def load_pair(self) -> None:
        """Load the chosen pair and nothing more."""
        if self._may_begin():
            self._controller.load(self._page.pair.pair())

    def request(self) -> DecodingRequest:
        """Return what the panels ask for."""
        prompt = self._page.prompt
        return DecodingRequest(
            uuid.uuid4().hex[:12],  # no other run of this person has it
            prompt.text(),
            self._page.decoding.config(),
            use_chat_template=prompt.uses_template(),
            system=prompt.system_turn(),
        )

    def _may_decode(self) -> bool:
        """Return whether a run may begin; an empty prompt costs no load and no text."""
        if not self._may_begin():
            return False
        prompt = self._page.prompt
        if prompt.uses_template() and not prompt.text():
            self._page.banners.show_error(EMPTY_PROMPT)
            prompt.editor.setFocus()
            return False
        return True

    def _may_begin(self) -> bool:
        """Return whether a job may begin; if the demo is missing, ask first."""
        if self._controller.state.is_busy:
            return False
        if self._pairs.needs_demo():
            self._page.fetch.show()
            self._page.fetch.fetch.setFocus()
            return False
        return True

    def _fetch(self, file: str = "") -> None:
        if not self._controller.state.is_busy:
            self._page.fetch.hide()
            self._controller.fetch_demo(file)

    @Slot(object)
    def _on_settings_edited(self, config: DecodingConfig) -> None:
        self._controller.update_settings(config)

    @Slot(bool)
    def _on_demo_missing(self, missing: bool) -> None:
        found = self._pairs.findings
        self._page.fetch.show_sizes(found.download, found.disk, found.wheel)
        self._page.fetch.setVisible(missing and not self._controller.state.is_busy)

    @Slot()
    def _on_fetch_asked(self) -> None:
        self._fetch()

    @Slot()
    def _on_file_asked(self) -> None:
        title = "Choose the demo model"
        path, _ = QFileDialog.getOpenFileName(
            self._page.window(), title, "", DEMO_FILES
        )
        if path:
            self._fetch(path)

    @Slot()
    def _on_finished(self) -> None:
        if self._pairs.needs_demo():  # perhaps it is here now
            self._pairs.refresh()
