"""Between Figure 1 on the Lab page, the controller and the figures that were kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Slot

from app.decode_page import DecodePage
from app.errands import Errands
from app.generation_worker import Failure
from app.kept_sweeps import KeptFigure, kept_figures
from app.lab_page import LabPage
from app.run_controller import Finding, RunController
from app.save_dialog import PLOT_KINDS, ask_where
from app.views import figure_words as words
from app.views.figure_panel import FigurePanel
from core.control import Control
from core.errors import ConfigurationError
from core.session import Session

if TYPE_CHECKING:
    from app.views.plot_source import Table

KEPT, CHOSEN, CSV = "figures kept", "figure chosen", "figure as CSV"
NAME = "figure-1.png"


class FigureDesk(QObject):
    """Turn the panel's wishes into jobs and files."""

    def __init__(
        self,
        lab: LabPage,
        page: DecodePage,
        controller: RunController,
        may_begin: Callable[[], bool],
        errands: Errands,
    ) -> None:
        super().__init__(lab)
        self._lab, self._page, self._controller = lab, page, controller
        self._may_begin, self._errands = may_begin, errands
        self._kept: tuple[KeptFigure, ...] = ()
        self.panel = FigurePanel()
        lab.add_section("Figure 1", self.panel)
        self._wire()

    def _wire(self) -> None:
        panel = self.panel
        panel.strip.start_asked.connect(self._on_start_asked)
        panel.strip.cancel_asked.connect(self._controller.stop)
        panel.opened.connect(self._on_opened)
        panel.kept_chosen.connect(self._on_kept_chosen)
        panel.save_asked.connect(self._on_save_asked)
        self._controller.finished.connect(self._on_job_finished)
        self._errands.answered.connect(self._on_answered)
        self._errands.failed.connect(self._on_failed)

    @Slot()
    def _on_start_asked(self) -> None:
        if not self._may_begin():
            return
        plan = self.panel.plan()

        def sweep(session: Session, control: Control) -> Iterator[Finding]:
            return session.sweep(plan, control)

        self.panel.begin()
        self._controller.work(self._page.pair.pair(), sweep, plan.settings)

    @Slot()
    def _on_opened(self) -> None:
        self._errands.ask(KEPT, kept_figures, light=True)

    @Slot()
    def _on_job_finished(self) -> None:
        if self._controller.in_lab and self.panel.isVisible():
            self._on_opened()  # what was just measured is among them now

    @Slot(int)
    def _on_kept_chosen(self, place: int) -> None:
        if place < len(self._kept):
            self._errands.ask(CHOSEN, partial(_opened, self._kept[place]), light=True)

    @Slot(str, object)
    def _on_answered(self, key: str, value: Any) -> None:
        if key == KEPT:
            self._show_kept(value)
        elif key == CHOSEN:
            self.panel.show_recorded(*value)
        elif key == CSV:
            self._lab.banners.show_note(f"{value} is written.")

    def _show_kept(self, kept: tuple[KeptFigure, ...]) -> None:
        self._kept = kept
        self.panel.show_kept(tuple(figure.name for figure in kept))
        shown = [_shown(figure) for figure in kept]
        now = self.panel.file, self.panel.heading
        if now in shown:
            self.panel.kept.setCurrentIndex(shown.index(now))
        elif not self.panel.curves:
            self._on_kept_chosen(0)

    @Slot(str, object)
    def _on_failed(self, key: str, failure: Failure) -> None:
        if key in (KEPT, CHOSEN, CSV):
            self._lab.banners.show_error(failure.sentence, failure.detail)

    @Slot()
    def _on_save_asked(self) -> None:
        try:
            path = ask_where(self._lab, "Save the figure", NAME, PLOT_KINDS)
        except ConfigurationError as error:
            self._lab.banners.show_error(error.sentence)
            return
        if path is not None:
            self.save(path)

    def save(self, path: Path) -> None:
        """Write the figure; a banner tells whether it could be."""
        if path.suffix.lower() == ".csv":
            write = partial(_write, self.panel.numbers(), path)
            self._errands.ask(CSV, write, light=True)
        else:
            self._save_picture(path)

    def _save_picture(self, path: Path) -> None:
        try:
            self.panel.export(path)
        except ValueError as error:
            self._lab.banners.show_error(str(error))
        except OSError:
            self._lab.banners.show_error(
                f"Cannot write {path.name}; choose another folder."
            )
        else:
            self._lab.banners.show_note(f"{path.name} is written.")


def _write(table: Table, path: Path) -> str:
    from app.views.plot_export import write_csv

    try:
        write_csv([("Figure 1", table)], path)
    except OSError as error:
        sentence = f"Cannot write {path.name}; choose another folder."
        raise ConfigurationError(sentence, path=path.name) from error
    return path.name


def _shown(figure: KeptFigure) -> tuple[str, str]:
    """Return file and caption, which tell one figure from the others."""
    heading = words.caption(figure.pair, figure.temperature)
    return figure.stored.path.name, heading


def _opened(figure: KeptFigure) -> tuple[Any, ...]:
    """Return what the panel shows of a kept figure."""
    cells = [c for c in figure.stored.cells() if c.temperature == figure.temperature]
    complete = all(cell.complete for cell in cells)
    return figure.curves(), *_shown(figure), complete
