"""The Help menu: pages, the guided tour, doctor, about."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QWidget

import resources
from app.dialogs.about import About
from app.dialogs.help_window import HelpWindow
from app.dialogs.text_window import TextWindow
from app.dialogs.tour import Tour
from app.doctor import doctor_report
from app.errands import Errands
from app.generation_worker import Failure
from app.tour_steps import Step, steps_of
from core.trace import read_trace

TOUR = "demo/tour.jsonl"


class HelpDesk(QObject):
    """Open what the Help menu names.

    Signals:
        failed: a sentence and its detail.
    """

    failed = Signal(str, str)

    def __init__(self, window: QWidget, errands: Errands) -> None:
        super().__init__(window)
        self._window, self._errands = window, errands
        self._pages: HelpWindow | None = None
        self.tour: Tour | None = None
        errands.answered.connect(self._on_answered)
        errands.failed.connect(self._on_failed)

    @Slot()
    def show_pages(self) -> None:
        """Open the help pages."""
        self._pages = self._pages or HelpWindow(self._window)
        self._pages.show()
        self._pages.raise_()

    @Slot()
    def ask_tour(self) -> None:
        """Open the guided tour once its recording is read in the background."""
        self._errands.ask("tour", _tour, light=True)

    @Slot()
    def show_about(self) -> None:
        """Say what this is."""
        About(self._window).show()

    @Slot()
    def ask_doctor(self) -> None:
        """Look at this machine in the background."""
        self._errands.ask("doctor", doctor_report)

    @Slot(str, object)
    def _on_answered(self, key: str, value: object) -> None:
        if key == "tour" and isinstance(value, tuple):
            self.tour = Tour(value, self._window)
            self.tour.show()
        if key == "doctor":
            TextWindow("Doctor", str(value), self._window).show()

    @Slot(str, object)
    def _on_failed(self, key: str, failure: Failure) -> None:
        if key in ("doctor", "tour"):
            self.failed.emit(failure.sentence, failure.detail or failure.trace)


def _tour() -> tuple[Step, ...]:
    return steps_of(read_trace(resources.path(TOUR)).events)
