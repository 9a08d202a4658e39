"""What a sweep found: caption, map, advice and the chosen cell, for a picture, too."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QPoint, QSize, Qt, Signal, Slot
from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import QLabel, QWidget

from app.panels.parts import MARGIN, column_in, muted
from app.theme import Theme, notifier
from app.views import sweep_words as words
from app.views.announce import announce
from app.views.sweep_table import SweepTable
from core.lab.sweep_events import ALL_KINDS, SweepCell

SHARP = 2  # pixels of a picture for each one on screen


class SweepPicture(QWidget):
    """Places the map among its words.

    Signals:
        cell_chosen: the SweepCell whose K and temperature should be set.
    """

    cell_chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.table, self.caption, self.detail = SweepTable(), muted(), muted()
        self.advice = QLabel()
        self._shown, self._pair = (words.Figure.SPEEDUP, ALL_KINDS), ""
        self._place()
        self.table.pointed.connect(self._on_pointed)
        self.table.chosen.connect(self._on_chosen)
        notifier().changed.connect(self._on_theme_changed)
        self._on_theme_changed(Theme.current())

    @property
    def cells(self) -> tuple[SweepCell, ...]:
        """All cells, of every kind."""
        return self.table.cells.cells

    @property
    def is_measured(self) -> bool:
        """Whether any cell has a figure."""
        return self.table.cells.is_measured

    def show_map(
        self,
        lookaheads: tuple[int, ...],
        temperatures: tuple[float, ...],
        cells: tuple[SweepCell, ...] = (),
    ) -> None:
        """Show another map, without advice."""
        self.advice.clear()
        self.table.cells.set_grid(lookaheads, temperatures, cells)
        self._refresh()

    def show_figure(self, figure: words.Figure, kind: str) -> None:
        """Choose what stands in the cells, and the prompts behind it."""
        self._shown = figure, kind
        self.table.cells.show(figure, kind)
        self._refresh()

    def name_pair(self, pair: str) -> None:
        """Say in the caption whose map it is."""
        self._pair = pair
        self._refresh()

    def put(self, cell: SweepCell) -> None:
        """Take in new figures of a cell."""
        self.table.cells.put(cell)
        self._refresh()

    def advise(self, advice: str) -> None:
        """Show what follows from the map."""
        self.advice.setText(advice)
        announce(self.advice, advice)

    def save(self, path: Path) -> bool:
        """Write everything as a picture; False if it cannot be."""
        room = QSize(2 * MARGIN, 2 * MARGIN)
        pixmap = QPixmap((self.size() + room) * SHARP)
        pixmap.setDevicePixelRatio(SHARP)
        pixmap.fill(Theme.current().color("surface"))
        at, parts = QPoint(MARGIN, MARGIN), QWidget.RenderFlag.DrawChildren
        self.render(pixmap, at, renderFlags=parts)
        return pixmap.save(str(path), "PNG")

    def _refresh(self) -> None:
        """Let the words follow the figures."""
        index = self.table.currentIndex()
        cell = self.table.cells.cell_at(index) if index.isValid() else None
        self.detail.setText(words.sentence(cell) if cell else "")
        self.caption.setText(words.caption(*self._shown, self._pair))

    def _place(self) -> None:
        self.advice.setWordWrap(True)
        self.advice.setAccessibleName("Advice")
        self.detail.setAccessibleName("The cell")
        self.detail.setAlignment(Qt.AlignmentFlag.AlignTop)
        column = column_in(self)
        for widget in (self.caption, self.table, self.advice, self.detail):
            column.addWidget(widget)

    @Slot(object)
    def _on_theme_changed(self, theme: Theme) -> None:
        height = self.fontMetrics().height()
        self.advice.setMinimumHeight(height + 2)
        self.detail.setMinimumHeight(2 * height + 4)

    @Slot(object)
    def _on_pointed(self, cell: SweepCell) -> None:
        self.detail.setText(words.sentence(cell))
        announce(self.detail, words.sentence(cell))

    @Slot(object)
    def _on_chosen(self, cell: SweepCell) -> None:
        self.cell_chosen.emit(cell)
        sentence = f"{words.loaded(cell)} {words.sentence(cell)}"
        self.detail.setText(sentence)
        announce(self.detail, sentence)
