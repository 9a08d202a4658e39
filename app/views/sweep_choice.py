"""What a sweep is asked: a ready grid or one's own, and the kinds of prompts."""

from __future__ import annotations

from dataclasses import dataclass, replace

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QCheckBox, QComboBox, QLabel, QLineEdit, QWidget

from app.panels.parts import column_in, muted, row_in
from app.views.labels import count
from app.views.sweep_words import numbers, whole_numbers
from core.config import DecodingConfig
from core.errors import CoreError
from core.lab.sweep_events import AUTO, GRID_KINDS, GRID_TOKENS, SweepPlan
from core.prompts import library


@dataclass(frozen=True, slots=True)
class Grid:
    """A grid that is offered ready."""

    name: str
    lookaheads: str
    temperatures: str
    kinds: tuple[str, ...]
    repeats: int


GRIDS = (
    Grid("Quick look", "1, 2, 4, 6", "0, 0.8", ("code", "repetition"), 1),
    Grid("Whole map", "1-8", "0, 0.5, 0.8, 1", GRID_KINDS, 3),
)
OWN = "My own"
AUTO_TIP = "One more column, in which K is chosen from round to round."


class SweepChoice(QWidget):
    """Fields for the grid; a ready one fills them, a change makes it one's own.

    Signals:
        changed: another grid is chosen.
    """

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.grid, self.repeats = QComboBox(), QComboBox()
        self.lookaheads, self.temperatures = QLineEdit(), QLineEdit()
        self.auto = QCheckBox("and &auto")
        kinds = dict.fromkeys(prompt.kind for prompt in library())
        self.kinds = {kind: QCheckBox(kind) for kind in kinds}
        self.total = muted()
        self._filling = False
        self._configure()
        self._place()
        self._wire()
        self._on_grid_chosen(0)

    def plan(self, settings: DecodingConfig) -> SweepPlan:
        """Return the grid, with everything else from ``settings``.

        Raises:
            CoreError: if a field cannot be read or is outside its limits.
        """
        plain = replace(
            settings, auto_lookahead=False, max_new_tokens=GRID_TOKENS, lookahead=0
        )
        return SweepPlan(
            lookaheads=self._lookaheads(),
            temperatures=numbers(self.temperatures.text()),
            kinds=tuple(kind for kind, box in self.kinds.items() if box.isChecked()),
            repeats=self.repeats.currentData(),
            settings=plain,
        )

    def _lookaheads(self) -> tuple[int, ...]:
        """Return each K as typed, and the automatic one where it is ticked."""
        text, auto = self.lookaheads.text(), self.auto.isChecked()
        fixed = () if auto and not text.strip() else whole_numbers(text)
        return (*fixed, AUTO) if auto else fixed

    def _configure(self) -> None:
        for grid in GRIDS:
            self.grid.addItem(grid.name, grid)
        self.grid.addItem(OWN, None)
        for repeats in (1, 3, 5, 10):
            self.repeats.addItem(count(repeats, "repeat"), repeats)
        self.grid.setAccessibleName("Grid")
        self.repeats.setAccessibleName("Repeats")
        self.lookaheads.setToolTip("Whole numbers from 0 to 16, or ranges: 1, 2, 4-8.")
        self.temperatures.setToolTip("Numbers from 0, such as 0, 0.8.")
        self.auto.setToolTip(AUTO_TIP)
        self.auto.setAccessibleName("Sweep the automatic K, too")
        for field in (self.lookaheads, self.temperatures, self.auto):
            field.setAccessibleDescription(field.toolTip())
        for field in (self.lookaheads, self.temperatures):
            field.setMinimumWidth(60)
        for kind, box in self.kinds.items():
            box.setAccessibleName(f"Prompts: {kind}")

    def _place(self) -> None:
        first, second, third = row_in(), row_in(spacing=10), row_in()
        for text, field, share in (
            ("&Grid", self.grid, 0),
            ("&K", self.lookaheads, 1),
            ("&T", self.temperatures, 1),
            ("R&epeats", self.repeats, 0),
        ):
            label, row = QLabel(text), third if field is self.repeats else first
            label.setBuddy(field)
            row.addWidget(label)
            row.addWidget(field, share)
            if field is self.lookaheads:
                first.addWidget(self.auto)
        second.addWidget(QLabel("Prompts"))
        for box in self.kinds.values():
            second.addWidget(box)
        second.addStretch(1)
        column = column_in(self)
        column.addLayout(first)
        column.addLayout(second)
        third.addWidget(self.total, 1)
        column.addLayout(third)

    def _wire(self) -> None:
        self.grid.activated.connect(self._on_grid_chosen)
        self.repeats.activated.connect(self._on_edited)
        for field in (self.lookaheads, self.temperatures):
            field.textChanged.connect(self._on_edited)
        for box in (self.auto, *self.kinds.values()):
            box.toggled.connect(self._on_edited)

    @Slot(int)
    def _on_grid_chosen(self, _: int) -> None:
        grid = self.grid.currentData()
        if grid is not None:
            self._fill(grid)
        self._tell()

    def _fill(self, grid: Grid) -> None:
        self._filling = True
        self.lookaheads.setText(grid.lookaheads)
        self.temperatures.setText(grid.temperatures)
        self.repeats.setCurrentIndex(self.repeats.findData(grid.repeats))
        for kind, box in self.kinds.items():
            box.setChecked(kind in grid.kinds)
        self._filling = False

    @Slot()
    def _on_edited(self) -> None:
        if not self._filling:
            self.grid.setCurrentIndex(self.grid.count() - 1)
            self._tell()

    def _tell(self) -> None:
        self.total.setText(self._total())
        self.changed.emit()

    def _total(self) -> str:
        try:
            plan = self.plan(DecodingConfig())
        except CoreError as error:
            return error.sentence
        turns = len(plan.temperatures) * len(plan.kinds) * plan.repeats
        runs = turns * len({0, *plan.lookaheads})
        return (
            f"{count(plan.num_cells, 'cell')}: {count(runs, 'decoding')} of up to "
            f"{GRID_TOKENS} tokens, plain ones among them, after a short warm-up."
        )
