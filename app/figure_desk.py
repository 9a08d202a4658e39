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
from app.jobs import Finding
from app.kept_list import KeptList
from app.kept_sweeps import kept_figures
from app.lab_page import LabPage
from app.run_controller import RunController
from app.save_dialog import PLOT_KINDS, ask_where
from app.views.figure_panel import FigurePanel
from core.control import Control
from core.errors import ConfigurationError
from core.session import Session

if TYPE_CHECKING:
    from app.views.plot_source import Table

CSV = "figure as CSV"
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
        self.panel = FigurePanel()
        lab.add_section("Figure 1", self.panel)
        list_of = self.panel, kept_figures, controller, errands, lab.banners
        self.kept = KeptList(self, *list_of)
        self._wire()

    def _wire(self) -> None:
        panel = self.panel
        panel.strip.start_asked.connect(self._on_start_asked)
        panel.strip.cancel_asked.connect(self._controller.stop)
        panel.save_asked.connect(self._on_save_asked)
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

    @Slot(str, object)
    def _on_answered(self, key: str, value: Any) -> None:
        if key == CSV:
            self._lab.banners.show_note(f"{value} is written.")

    @Slot(str, object)
    def _on_failed(self, key: str, failure: Failure) -> None:
        if key == CSV:
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
