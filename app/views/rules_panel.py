"""The rules side by side: what each would have kept of the last run's proposals."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHeaderView,
    QLabel,
    QPushButton,
    QTableWidget,
    QTableWidgetItem,
    QWidget,
)

from app.panels.parts import Meter, column_in, muted, row_in
from app.theme import Theme, notifier
from app.views.labels import count, number
from core.lab.rules import FEWEST_PLACES, RuleFigures

HEADINGS = ("Rule", "Target's law", "Acceptance", "", "Tokens per round")
METER, ROWS = 3, 4
INTRODUCTION = (
    "What each rule would have kept at the places that the last speculative run "
    "judged: the same places for all, though another rule would have led elsewhere. "
    "Figures with ± were counted draw by draw; the others are sums over all tokens."
)
NO_RUN = "Nothing was judged yet: run or race with a drafter, then compare."
COMPARING = "Comparing…"
FEW = "Few places: the figures will move with a longer run."


class RulesPanel(QFrame):
    """Shows the figures of every rule.

    Signals:
        compare_asked: the button.
    """

    compare_asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("card", True)
        self.compare, self.note = QPushButton("Compare"), muted(NO_RUN)
        self.table, self.does = QTableWidget(0, len(HEADINGS)), QLabel()
        self._figures: tuple[RuleFigures, ...] = ()
        self._configure()
        self._place()
        self.compare.clicked.connect(self._on_compare_clicked)
        self.table.currentCellChanged.connect(self._on_row_chosen)
        notifier().changed.connect(self._on_theme_changed)
        self._fit()

    def show_figures(self, figures: tuple[RuleFigures, ...]) -> None:
        """Show what each rule would have kept."""
        places = max((f.places for f in figures), default=0)
        self._figures = figures if places else ()
        self.table.setRowCount(len(self._figures))
        for row, rule in enumerate(self._figures):
            self._show_rule(row, rule)
        few = f" {FEW}" if places < FEWEST_PLACES else ""
        judged = f"{count(places, 'place')} judged in the last run.{few}"
        self.note.setText(judged if places else NO_RUN)
        self.does.clear()
        if self._figures:
            self.table.selectRow(0)
            self._on_row_chosen(0)

    def _show_rule(self, row: int, rule: RuleFigures) -> None:
        law = "✓ kept" if rule.lossless else "✗ lossy"
        role = "accepted" if rule.lossless else "resampled"
        error = "" if rule.error is None else f" ± {rule.error:.2f}"
        texts = (rule.name, law, number(rule.acceptance) + error, "")
        for column, text in enumerate((*texts, number(rule.tokens_per_round))):
            item = QTableWidgetItem(text)
            item.setToolTip(rule.does)
            if column == 1:
                item.setForeground(Theme.current().color(role))
            if column == len(HEADINGS) - 1:
                item.setTextAlignment(_RIGHT)
            self.table.setItem(row, column, item)
        self.table.setCellWidget(row, METER, _meter(rule.acceptance, role))

    def _configure(self) -> None:
        table = self.table
        table.setHorizontalHeaderLabels(list(HEADINGS))
        table.setAccessibleName("Rules")
        table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        table.setTabKeyNavigation(False)
        table.setShowGrid(False)
        table.verticalHeader().hide()
        header = table.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(METER, QHeaderView.ResizeMode.Stretch)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft)
        self.compare.setProperty("primary", True)
        self.compare.setAccessibleDescription(INTRODUCTION)
        self.does.setWordWrap(True)
        self.does.setAccessibleName("What the rule does")

    def _place(self) -> None:
        title = QLabel("What is the rule worth?")
        title.setProperty("role", "title")
        row = row_in(spacing=12)
        row.addWidget(self.compare)
        row.addWidget(self.note, 1)
        column = column_in(self, spacing=10, margins=(16, 14, 16, 14))
        column.addWidget(title)
        column.addWidget(muted(INTRODUCTION))
        column.addLayout(row)
        column.addWidget(self.table)
        column.addWidget(self.does)
        column.addStretch(1)

    def _fit(self) -> None:
        metrics = self.fontMetrics()
        row = metrics.height() + 12
        self.table.verticalHeader().setDefaultSectionSize(row)
        self.table.setFixedHeight((ROWS + 1) * row + 8)
        self.does.setMinimumHeight(2 * metrics.height())

    @Slot()
    def _on_compare_clicked(self) -> None:
        self.note.setText(COMPARING)
        self.compare_asked.emit()

    @Slot(int)
    @Slot(int, int, int, int)
    def _on_row_chosen(self, row: int, *_: int) -> None:
        if 0 <= row < len(self._figures):
            self.does.setText(self._figures[row].does)

    @Slot(object)
    def _on_theme_changed(self, theme: Theme) -> None:
        self._fit()
        self.show_figures(self._figures)


def _meter(share: float | None, role: str) -> QWidget:
    """Return a bar in the middle of its cell."""
    holder, meter = QWidget(), Meter()
    meter.show_share(share or 0.0, role)
    column = column_in(holder, margins=(10, 0, 10, 0))
    column.addStretch(1)
    column.addWidget(meter)
    column.addStretch(1)
    return holder


_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
