"""Between the sweep on the Lab page, the controller and the sweeps that were kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Slot

from app.decode_page import DecodePage
from app.errands import Errands
from app.generation_worker import Failure
from app.jobs import Finding
from app.kept_list import KeptList
from app.kept_sweeps import kept_sweeps
from app.lab_page import LabPage
from app.run_controller import RunController
from app.save_dialog import ask_where
from app.views.sweep_panel import SweepPanel
from core.control import Control
from core.errors import CoreError
from core.lab.sweep_events import AUTO, SweepCell
from core.session import Session

CSV = "sweep as CSV"


class SweepDesk(QObject):
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
        self.panel = SweepPanel()
        lab.add_section("Sweep", self.panel)
        list_of = self.panel, kept_sweeps, controller, errands, lab.banners
        self.kept = KeptList(self, *list_of)
        self._wire()

    def _wire(self) -> None:
        panel = self.panel
        panel.strip.start_asked.connect(self._on_start_asked)
        panel.strip.cancel_asked.connect(self._controller.stop)
        panel.picture.cell_chosen.connect(self._on_cell_chosen)
        panel.csv_asked.connect(self._on_csv_asked)
        panel.png_asked.connect(self._on_png_asked)
        self._errands.answered.connect(self._on_answered)
        self._errands.failed.connect(self._on_failed)

    @Slot()
    def _on_start_asked(self) -> None:
        if not self._may_begin():
            return
        settings = self._page.decoding.config()
        try:
            plan = self.panel.plan(settings)
        except CoreError as error:
            self._lab.banners.show_error(error.sentence)
            return

        def sweep(session: Session, control: Control) -> Iterator[Finding]:
            return session.sweep(plan, control)

        self.panel.begin(plan)
        self._controller.work(self._page.pair.pair(), sweep, plan.settings)

    @Slot(object)
    def _on_cell_chosen(self, cell: SweepCell) -> None:
        decoding = self._page.decoding
        decoding.field("auto_lookahead").set_value(cell.lookahead == AUTO)
        if cell.lookahead != AUTO:
            decoding.field("lookahead").set_value(cell.lookahead)
        decoding.field("temperature").set_value(cell.temperature)

    # Files ------------------------------------------------------------------------

    @Slot()
    def _on_csv_asked(self) -> None:
        path = self._ask_where("sweep.csv", "CSV (*.csv)")
        if path is not None:
            self.write_csv(path)

    def write_csv(self, path: Path) -> None:
        """Write the cells of the map in the background; a banner tells the end."""
        self._errands.ask(
            CSV, partial(_write, self.panel.picture.cells, path), light=True
        )

    @Slot(str, object)
    def _on_answered(self, key: str, value: Any) -> None:
        if key == CSV:
            self._lab.banners.show_note(f"{value} is written.")

    @Slot(str, object)
    def _on_failed(self, key: str, failure: Failure) -> None:
        if key == CSV:
            self._lab.banners.show_error(failure.sentence, failure.detail)

    @Slot()
    def _on_png_asked(self) -> None:
        path = self._ask_where("sweep.png", "Picture (*.png)")
        if path is not None:
            self.write_png(path)

    def write_png(self, path: Path) -> None:
        """Write the map as a picture; a banner tells whether it could be."""
        if self.panel.picture.save(path):
            self._lab.banners.show_note(f"{path.name} is written.")
        else:
            self._lab.banners.show_error(
                f"Cannot write {path.name}; choose another folder."
            )

    def _ask_where(self, name: str, kinds: str) -> Path | None:
        try:
            return ask_where(self._lab, "Save the sweep", name, kinds)
        except CoreError as error:
            self._lab.banners.show_error(error.sentence)
            return None


def _write(cells: tuple[SweepCell, ...], path: Path) -> str:
    from core.lab.sweep_export import write_csv

    write_csv(cells, path)
    return path.name
