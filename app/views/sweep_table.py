"""The map of a sweep: a shaded table whose cells can be walked with the arrow keys."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent, QPainter, QPen
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from app.fonts import text_font
from app.item_models.sweep_map import UNDER, SweepMap
from app.theme import Theme, notifier

WIDEST = "00.00 to 00.00"
MOST_ROWS = 6  # more of them scroll


class SweepTable(QTableView):
    """Shows the cells and says which one is meant.

    Signals:
        pointed: the SweepCell that has the keyboard's place.
        chosen: the SweepCell that was clicked or entered.
    """

    pointed = Signal(object)
    chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.cells = SweepMap()
        self.setModel(self.cells)
        self.setItemDelegate(_CellPainter(self))
        self.setAccessibleName("Map of K and temperature")
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setTabKeyNavigation(False)
        self.setShowGrid(False)
        for header in (self.horizontalHeader(), self.verticalHeader()):
            header.setHighlightSections(False)
            header.setDefaultAlignment(Qt.AlignmentFlag.AlignCenter)
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        self.clicked.connect(self._on_clicked)
        self.selectionModel().currentChanged.connect(self._on_current_changed)
        self.cells.modelReset.connect(self._fit)
        notifier().changed.connect(self._on_theme_changed)
        self._fit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Choose the cell with Enter or Space; leave the rest to the table."""
        keys = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)
        if event.key() in keys and self.currentIndex().isValid():
            self._on_clicked(self.currentIndex())
        else:
            super().keyPressEvent(event)

    @Slot()
    def _fit(self) -> None:
        """Give every cell the room of its widest text, so that none moves."""
        body, small = text_font("title", bold=True), text_font("small")
        self.setFont(text_font("small"))
        wide = self.fontMetrics().horizontalAdvance(WIDEST) + 10
        self.horizontalHeader().setMinimumSectionSize(wide)
        row = round(1.5 * body.pointSizeF() + 1.5 * small.pointSizeF()) + 24
        row = max(row, 3 * self.fontMetrics().height())
        rows = self.verticalHeader()
        rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        rows.setDefaultSectionSize(row)
        shown = max(1, min(MOST_ROWS, self.cells.rowCount()))
        head = self.horizontalHeader().sizeHint().height()
        bar = self.horizontalScrollBar().sizeHint().height()
        self.setFixedHeight(shown * row + head + bar + 4)

    @Slot(QModelIndex)
    def _on_clicked(self, index: QModelIndex) -> None:
        self.chosen.emit(self.cells.cell_at(index))

    @Slot(QModelIndex, QModelIndex)
    def _on_current_changed(self, now: QModelIndex, before: QModelIndex) -> None:
        if now.isValid():
            self.pointed.emit(self.cells.cell_at(now))

    @Slot(object)
    def _on_theme_changed(self, theme: Theme) -> None:
        self._fit()
        self.viewport().update()


class _CellPainter(QStyledItemDelegate):
    """Draws a figure on its shade, a small line below it, a frame at the focus."""

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        theme, view = Theme.current(), self.parent()
        assert isinstance(view, SweepTable)
        box = QRect(option.rect).adjusted(1, 1, -1, -1)  # type: ignore[attr-defined]
        painter.save()
        painter.fillRect(box, index.data(Qt.ItemDataRole.BackgroundRole))
        if index == view.currentIndex():
            name = "text" if view.hasFocus() else "muted"
            painter.setPen(QPen(theme.color(name), 2 if view.hasFocus() else 1))
            painter.drawRect(box.adjusted(1, 1, -1, -1))
        painter.setPen(theme.color("text"))
        self._write(painter, box, index.data(), index.data(UNDER))
        painter.restore()

    @staticmethod
    def _write(painter: QPainter, box: QRect, figure: str, small: str) -> None:
        center = Qt.AlignmentFlag.AlignCenter
        upper = QRect(box.left(), box.top() + 2, box.width(), round(box.height() * 0.6))
        painter.setFont(text_font("title", bold=True))
        painter.drawText(upper if small else box, center, figure)
        lower = QRect(box)
        lower.setTop(upper.bottom() - 3)
        painter.setFont(text_font("small"))
        painter.drawText(lower, center, small)
