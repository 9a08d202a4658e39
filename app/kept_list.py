"""The list of what earlier sweeps left, of the sweep's section and of Figure 1's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, Slot

from app.errands import Errands
from app.generation_worker import Failure
from app.kept_sweeps import Kept
from app.panels.banner import BannerArea
from app.run_controller import RunController
from app.views.figure_panel import FigurePanel
from app.views.sweep_panel import SweepPanel


class KeptList(QObject):
    """Look for what was kept, name it, and open what is chosen, off this thread.

    Signals:
        none.
    """

    def __init__(
        self,
        parent: QObject,
        panel: SweepPanel | FigurePanel,
        find: Callable[[], tuple[Kept, ...]],
        controller: RunController,
        errands: Errands,
        banners: BannerArea,
    ) -> None:
        super().__init__(parent)
        self._panel, self._find, self._controller = panel, find, controller
        self._errands, self._banners = errands, banners
        self._found, self._opened = f"{find.__name__} found", f"{find.__name__} opened"
        self._kept: tuple[Kept, ...] = ()
        panel.opened.connect(self._look)
        panel.kept_chosen.connect(self._open)
        controller.finished.connect(self._on_job_finished)
        errands.answered.connect(self._on_answered)
        errands.failed.connect(self._on_failed)

    @Slot()
    def _look(self) -> None:
        self._errands.ask(self._found, self._find, light=True)

    @Slot()
    def _on_job_finished(self) -> None:
        if self._controller.in_lab and self._panel.isVisible():
            self._look()  # what was just measured is among them now

    @Slot(int)
    def _open(self, place: int) -> None:
        if place < len(self._kept):
            self._errands.ask(self._opened, self._kept[place].open, light=True)

    @Slot(str, object)
    def _on_answered(self, key: str, value: Any) -> None:
        if key == self._found:
            self._offer(value)
        elif key == self._opened:
            self._panel.show_recorded(*value)

    def _offer(self, kept: tuple[Kept, ...]) -> None:
        """Show the list with what is on screen chosen; the latest where nothing is."""
        self._kept = kept
        self._panel.show_kept(tuple(one.name for one in kept))
        marks, shown = [one.mark for one in kept], self._panel.shown
        if shown in marks:
            self._panel.kept.setCurrentIndex(marks.index(shown))
        elif shown is None:
            self._open(0)

    @Slot(str, object)
    def _on_failed(self, key: str, failure: Failure) -> None:
        if key in (self._found, self._opened):
            self._banners.show_error(failure.sentence, failure.detail)
