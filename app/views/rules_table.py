"""The small tables of the rules: a row for each rule, bars in some of the cells."""

from __future__ import annotations

from collections.abc import Collection

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableWidget, QWidget

from app.panels.parts import Meter, column_in
from core.lab.rules import RULES

LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


def new_table(
    name: str, headings: tuple[str, ...], meters: Collection[int]
) -> QTableWidget:
    """Return an empty table whose columns of bars share the spare room."""
    table = QTableWidget(0, len(headings))
    table.setHorizontalHeaderLabels(list(headings))
    table.setAccessibleName(name)
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
    table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    table.setTabKeyNavigation(False)
    table.setShowGrid(False)
    table.verticalHeader().hide()
    header = table.horizontalHeader()
    header.setHighlightSections(False)
    header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
    for column in meters:
        header.setSectionResizeMode(column, QHeaderView.ResizeMode.Stretch)
    header.setDefaultAlignment(LEFT)
    last = table.horizontalHeaderItem(len(headings) - 1)
    if last is not None and len(headings) - 1 not in meters:  # it is of numbers
        last.setTextAlignment(RIGHT)
    return table


def fit_table(table: QTableWidget) -> None:
    """Give the table the height of all rules at the present size of type."""
    row = table.fontMetrics().height() + 12
    table.verticalHeader().setDefaultSectionSize(row)
    table.setFixedHeight((len(RULES) + 1) * row + 8)


def meter_cell(share: float | None, role: str) -> QWidget:
    """Return a bar in the middle of its cell."""
    holder, meter = QWidget(), Meter()
    meter.show_share(share or 0.0, role)
    column = column_in(holder, margins=(10, 0, 10, 0))
    column.addStretch(1)
    column.addWidget(meter)
    column.addStretch(1)
    return holder
