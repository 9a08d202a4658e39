"""Open, save and export: file dialogs here, disk work in errands."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QFileDialog, QWidget

import resources
from app.errands import Errands
from app.folders import trace_folder
from app.generation_worker import Failure
from app.save_dialog import PLOT_KINDS, ask_where
from app.trace_desk import TraceDesk, write, write_failed, write_page
from core.errors import ConfigurationError
from core.events import Event
from core.trace import Trace, read_trace

TRACES = "Draftrace traces (*.jsonl)"
READABLE = "Draftrace traces and reports (*.jsonl *.html);;All files (*)"
REPORTS = "Web page (*.html *.htm)"
PROFILES = "Chrome trace (*.json)"
DEMO = "demo/race.jsonl"
KEYS = ("open trace", "save trace", "failed trace", "report", "profile")


class TraceActions(QObject):
    """What the File menu does with traces.

    Signals:
        opened: the Trace that was read.
        noted: a sentence.
        failed: a sentence and its detail.
        export_asked: the path to export the plots to.
    """

    opened = Signal(object)
    noted = Signal(str)
    failed = Signal(str, str)
    export_asked = Signal(str)

    def __init__(self, window: QWidget, errands: Errands, folder: str = "") -> None:
        super().__init__(window)
        self.desk = TraceDesk()
        self.folder = folder
        self._window, self._errands = window, errands
        errands.answered.connect(self._on_answered)
        errands.failed.connect(self._on_failed)

    def open_path(self, path: str) -> None:
        """Read a trace in the background."""
        self.folder = str(Path(path).parent)
        self._errands.ask("open trace", partial(_read, Path(path)), light=True)

    @Slot()
    def open_demo(self) -> None:
        """Read the race that ships with the program; it needs no model."""
        demo = partial(read_trace, resources.path(DEMO))
        self._errands.ask("open trace", demo, light=True)

    def save_path(self, path: str) -> None:
        """Write the last run in the background."""
        self.folder = str(Path(path).parent)
        write_it = partial(write, Path(path), self.desk, self.desk.events)
        self._errands.ask("save trace", write_it)

    def report_path(self, path: str) -> None:
        """Write a page about the last run in the background."""
        self.folder = str(Path(path).parent)
        report = partial(write_page, Path(path), self.desk, self.desk.events)
        self._errands.ask("report", report)

    def profile_path(self, path: str) -> None:
        """Write the last run for a profiler in the background."""
        self.folder = str(Path(path).parent)
        self._errands.ask("profile", partial(_profile, Path(path), self.desk.events))

    def keep_failed(self) -> None:
        """Leave a run that failed on the disk."""
        if self.desk.has_run:
            keep = partial(write_failed, trace_folder(), self.desk, self.desk.events)
            self._errands.ask("failed trace", keep)

    @Slot()
    def ask_open(self) -> None:
        """Let the person choose a trace to open."""
        path, _ = QFileDialog.getOpenFileName(
            self._window, "Open trace", self.folder, READABLE
        )
        if path:
            self.open_path(path)

    @Slot()
    def ask_save(self) -> None:
        """Let the person choose where the last run is saved."""
        path = self._ask_where("Save trace", ".jsonl", TRACES)
        if path:
            self.save_path(path)

    @Slot()
    def ask_report(self) -> None:
        """Let the person choose where a page about the last run is written."""
        path = self._ask_where("Export report", ".html", REPORTS)
        if path:
            self.report_path(path)

    @Slot()
    def ask_profile(self) -> None:
        """Let the person choose where the last run is written for a profiler."""
        path = self._ask_where("Export for a profiler", ".json", PROFILES)
        if path:
            self.profile_path(path)

    def _ask_where(self, title: str, suffix: str, kinds: str) -> str:
        """Return the path that was chosen; empty without one, or without a run."""
        if not self.desk.has_run:
            self.noted.emit("There is nothing to save yet; run or race first.")
            return ""
        start = str(Path(self.folder) / self.desk.suggested_name(suffix))
        try:
            path = ask_where(self._window, title, start, kinds)
        except ConfigurationError as error:
            self.failed.emit(error.sentence, "")
            return ""
        return str(path or "")

    @Slot()
    def ask_export(self) -> None:
        """Let the person choose where the plots are exported to."""
        path = self._ask_where("Export plots", ".png", PLOT_KINDS)
        if path:
            self.folder = str(Path(path).parent)
            self.export_asked.emit(path)

    @Slot(str, object)
    def _on_answered(self, key: str, value: object) -> None:
        if key == "open trace" and isinstance(value, Trace):
            self.opened.emit(value)
        elif key in ("save trace", "report", "profile") and isinstance(value, Path):
            self.noted.emit(f"Saved as {value.name}.")
        elif key == "failed trace" and isinstance(value, Path):
            self.noted.emit(f"The run up to the failure was kept as {value}.")

    @Slot(str, object)
    def _on_failed(self, key: str, failure: Failure) -> None:
        if key in KEYS:
            self.failed.emit(failure.sentence, failure.detail or failure.trace)


def _read(path: Path) -> Trace:
    """Read a trace, also one that is in a report."""
    if path.suffix.lower() not in (".html", ".htm"):
        return read_trace(path)
    from core.lab.report import read_report

    return read_report(path)


def _profile(path: Path, events: Sequence[Event]) -> Path:
    from core.lab.chrome_trace import write_chrome_trace

    write_chrome_trace(path, events)
    return path
