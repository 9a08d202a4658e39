"""Open, save and export: file dialogs here, disk work in errands."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QFileDialog, QWidget

import resources
from app.errands import Errands
from app.folders import trace_folder
from app.generation_worker import Failure
from app.trace_desk import TraceDesk, write, write_failed
from core.trace import Trace, read_trace

TRACES = "Draftrace traces (*.jsonl);;All files (*)"
PICTURES = "PNG picture (*.png);;SVG drawing (*.svg);;Numbers as CSV (*.csv)"
DEMO = "demo/race.jsonl"
KEYS = ("open trace", "save trace", "failed trace")


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
        self._errands.ask("open trace", partial(read_trace, path))

    @Slot()
    def open_demo(self) -> None:
        """Read the race that ships with the program; it needs no model."""
        demo = partial(read_trace, resources.path(DEMO))
        self._errands.ask("open trace", demo)

    def save_path(self, path: str) -> None:
        """Write the last run in the background."""
        self.folder = str(Path(path).parent)
        write_it = partial(write, Path(path), self.desk, self.desk.events)
        self._errands.ask("save trace", write_it)

    def keep_failed(self) -> None:
        """Leave a run that failed on the disk."""
        if self.desk.has_run:
            keep = partial(write_failed, trace_folder(), self.desk, self.desk.events)
            self._errands.ask("failed trace", keep)

    @Slot()
    def ask_open(self) -> None:
        """Let the person choose a trace to open."""
        path, _ = QFileDialog.getOpenFileName(
            self._window, "Open trace", self.folder, TRACES
        )
        if path:
            self.open_path(path)

    @Slot()
    def ask_save(self) -> None:
        """Let the person choose where the last run is saved."""
        if not self.desk.has_run:
            self.noted.emit("There is nothing to save yet; run or race first.")
            return
        start = str(Path(self.folder) / self.desk.suggested_name())
        path, _ = QFileDialog.getSaveFileName(self._window, "Save trace", start, TRACES)
        if path:
            self.save_path(path)

    @Slot()
    def ask_export(self) -> None:
        """Let the person choose where the plots are exported to."""
        path, _ = QFileDialog.getSaveFileName(
            self._window, "Export plots", self.folder, PICTURES
        )
        if path:
            self.folder = str(Path(path).parent)
            self.export_asked.emit(path)

    @Slot(str, object)
    def _on_answered(self, key: str, value: object) -> None:
        if key == "open trace" and isinstance(value, Trace):
            self.opened.emit(value)
        elif key == "save trace" and isinstance(value, Path):
            self.noted.emit(f"Saved as {value.name}.")
        elif key == "failed trace" and isinstance(value, Path):
            self.noted.emit(f"The run up to the failure was kept as {value}.")

    @Slot(str, object)
    def _on_failed(self, key: str, failure: Failure) -> None:
        if key in KEYS:
            self.failed.emit(failure.sentence, failure.detail or failure.trace)
