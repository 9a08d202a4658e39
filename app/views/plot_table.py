"""The table twin of a plot."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QHeaderView,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.views.labels import DASH
from app.views.plot_source import Table


class PlotTable(QDialog):
    """Shows a plot's numbers as they were when it was opened.

    Signals:
        those of QDialog.
    """

    def __init__(self, title: str, table: Table, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        headings, rows = table
        self.table = QTableWidget(len(rows), len(headings))
        self.table.setHorizontalHeaderLabels(list(headings))
        self.table.verticalHeader().hide()
        self.table.setEditTriggers(QTableWidget.EditTrigger.NoEditTriggers)
        self.table.setAccessibleName(title)
        for i, row in enumerate(rows):
            for j, value in enumerate(row):
                self.table.setItem(i, j, _item(value))
        header = self.table.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.table.resizeColumnsToContents()
        wide = header.length()
        header.setStretchLastSection(True)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.addWidget(self.table)
        layout.addWidget(buttons)
        most = self.screen().availableSize().width() - 40
        self.resize(min(most, max(460, wide + 60)), 420)


def _item(value: object) -> QTableWidgetItem:
    text = DASH if value is None else f"{value:.3f}" if _is_float(value) else str(value)
    item = QTableWidgetItem(text)
    if isinstance(value, int | float):
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        item.setTextAlignment(right)
    return item


def _is_float(value: object) -> bool:
    return isinstance(value, float)
