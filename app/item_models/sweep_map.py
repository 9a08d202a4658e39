"""The cells of a sweep as a table: a row for each temperature, a column for each K."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor

from app.theme import Theme
from app.views.sweep_words import Figure, sentence, under
from core.lab.sweep_events import ALL_KINDS, SweepCell, lookahead_name

_Index = QModelIndex | QPersistentModelIndex
UNDER = Qt.ItemDataRole.UserRole  # the small line of a cell
STRONGEST = 0.5  # of the colour in the ground; text must stay legible on it


class SweepMap(QAbstractTableModel):
    """Cells by prompt kind, K and temperature; one kind and one figure show."""

    def __init__(self) -> None:
        super().__init__()
        self.lookaheads: tuple[int, ...] = ()
        self.temperatures: tuple[float, ...] = ()
        self.figure, self.kind = Figure.SPEEDUP, ALL_KINDS
        self._cells: dict[tuple[str, float, int], SweepCell] = {}

    @property
    def cells(self) -> tuple[SweepCell, ...]:
        """All cells, of every kind."""
        return tuple(self._cells.values())

    @property
    def is_measured(self) -> bool:
        """Whether any cell has a figure."""
        return any(cell.runs for cell in self._cells.values())

    def set_grid(
        self,
        lookaheads: tuple[int, ...],
        temperatures: tuple[float, ...],
        cells: Iterable[SweepCell] = (),
    ) -> None:
        """Show another map; without cells it is an empty one."""
        self.beginResetModel()
        self.lookaheads, self.temperatures = lookaheads, temperatures
        self._cells = {_key(cell): cell for cell in cells}
        self.endResetModel()

    def put(self, cell: SweepCell) -> None:
        """Take in new figures of a cell; the shades of all may change with them."""
        self._cells[_key(cell)] = cell
        self._all_changed()

    def show(self, figure: Figure, kind: str) -> None:
        """Choose the figure and the prompts that the cells show."""
        self.figure, self.kind = figure, kind
        self._all_changed()

    def cell_at(self, index: _Index) -> SweepCell:
        """Return a cell; an empty one where nothing was measured."""
        temperature = self.temperatures[index.row()]
        lookahead = self.lookaheads[index.column()]
        empty = SweepCell(lookahead, temperature, self.kind)
        return self._cells.get((self.kind, temperature, lookahead), empty)

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008 (Qt's own)
        return 0 if parent.isValid() else len(self.temperatures)

    def columnCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.lookaheads)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = 0
    ) -> Any:
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        if orientation is Qt.Orientation.Horizontal:
            return lookahead_name(self.lookaheads[section])
        return f"T = {self.temperatures[section]:g}"

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        cell = self.cell_at(index)
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return self.figure.text(cell)
            case Qt.ItemDataRole.TextAlignmentRole:
                return Qt.AlignmentFlag.AlignCenter
            case Qt.ItemDataRole.BackgroundRole:
                return self._ground(cell)
            case Qt.ItemDataRole.UserRole:
                return under(self.figure, cell, self.is_best(cell))
            case Qt.ItemDataRole.ToolTipRole | Qt.ItemDataRole.AccessibleTextRole:
                return sentence(cell)
            case _:
                return None

    def is_best(self, cell: SweepCell) -> bool:
        """Return whether no other cell on screen has a higher figure."""
        value = self.figure.of(cell)
        return value is not None and value == max(self._values())

    def _ground(self, cell: SweepCell) -> QColor:
        """Return the shade of a cell: orange under plain's speed, green over it."""
        theme, value = Theme.current(), self.figure.of(cell)
        surface = theme.color("surface")
        if value is None:
            return surface
        if self.figure is Figure.SPEEDUP:
            role = "accepted" if value >= 1 else "resampled"
            reach = max(abs(other - 1) for other in self._values())
            return blend(surface, theme.color(role, "line"), abs(value - 1), reach)
        low, high = min(self._values()), max(self._values())
        ink = theme.color("draft", "line")
        return blend(surface, ink, value - 0.8 * low, high - 0.8 * low)

    def _values(self) -> list[float]:
        shown = (c for c in self._cells.values() if c.prompt_kind == self.kind)
        return [v for v in map(self.figure.of, shown) if v is not None]

    def _all_changed(self) -> None:
        last = self.index(self.rowCount() - 1, self.columnCount() - 1)
        self.dataChanged.emit(self.index(0, 0), last)


def _key(cell: SweepCell) -> tuple[str, float, int]:
    return cell.prompt_kind, cell.temperature, cell.lookahead


def blend(ground: QColor, ink: QColor, part: float, whole: float) -> QColor:
    """Return ``ground`` with as much of ``ink`` as ``part`` is of ``whole``."""
    share = STRONGEST * (part / whole if whole > 0 else 0.0)
    pairs = (
        (ground.red(), ink.red()),
        (ground.green(), ink.green()),
        (ground.blue(), ink.blue()),
    )
    return QColor(*(round(below + share * (above - below)) for below, above in pairs))
