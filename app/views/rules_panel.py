"""The rules side by side: what each would have kept, and the texts that it gives."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import (
    QFrame,
    QLabel,
    QPushButton,
    QScrollArea,
    QTableWidgetItem,
    QWidget,
)

from app.jobs import Finding, State
from app.panels.parts import Rule, column_in, muted, row_in
from app.theme import Theme, notifier
from app.views.labels import count, number
from app.views.rule_laws_view import READING, RuleLawsView
from app.views.rules_table import RIGHT, fit_table, meter_cell, new_table
from core.events import LoadProgress
from core.lab.rules import FEWEST_PLACES, LawsStarted, LawsSummed, RuleFigures

HEADINGS = ("Rule", "Target's law", "Acceptance", "", "Tokens per round")
METER = 3
INTRODUCTION = (
    "What each rule would have kept at the places that the last speculative run "
    "judged: the same places for all, though another rule would have led elsewhere. "
    "Figures with ± were counted draw by draw; the others are sums over all tokens."
)
NO_RUN = "Nothing was judged yet: run or race with a drafter, then compare."
COMPARING = "Comparing…"
FEW = "Few places: the figures will move with a longer run."


class RulesPanel(QScrollArea):
    """Shows the figures of every rule, and the law of its texts.

    Signals:
        compare_asked: the button.
        laws_asked: the button.
    """

    compare_asked, laws_asked = Signal(), Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, widgetResizable=True)
        self.setAccessibleName("Rules")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.compare, self.note = QPushButton("Compare"), muted(NO_RUN)
        self.table, self.does = new_table("Rules", HEADINGS, {METER}), QLabel()
        self.laws = RuleLawsView()
        self._figures: tuple[RuleFigures, ...] = ()
        self._configure()
        self._place()
        self.compare.clicked.connect(self._on_compare_clicked)
        self.laws.asked.connect(self.laws_asked)
        self.table.currentCellChanged.connect(self._on_row_chosen)
        notifier().changed.connect(self._on_theme_changed)
        self._fit()
        self.table.hide()

    def on_finding(self, finding: Finding) -> str:
        """Take in what was summed; return words for the status line."""
        if isinstance(finding, LawsSummed):
            return self.laws.show_laws(finding)
        if isinstance(finding, LawsStarted):
            self.laws.tell(READING)
            return READING
        if isinstance(finding, LoadProgress) and self.laws.going:
            self.laws.tell(f"{finding.stage}…")
        return ""

    def show_state(self, state: State) -> None:
        """Offer what can be done in ``state``."""
        self.laws.button.setEnabled(not state.is_busy)
        if not state.is_busy:
            self.laws.stop()

    def give_up(self) -> None:
        """Say again what was said before a comparing that failed."""
        self.show_figures(self._figures)

    def show_figures(self, figures: tuple[RuleFigures, ...]) -> None:
        """Show what each rule would have kept."""
        places = max((f.places for f in figures), default=0)
        self._figures = figures if places else ()
        self.table.setRowCount(len(self._figures))
        for row, rule in enumerate(self._figures):
            self._show_rule(row, rule)
        self.table.setVisible(bool(self._figures))  # no headings without rows
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
                item.setTextAlignment(RIGHT)
            self.table.setItem(row, column, item)
        self.table.setCellWidget(row, METER, meter_cell(rule.acceptance, role))

    def _configure(self) -> None:
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
        card = QFrame()
        card.setProperty("card", True)
        column = column_in(card, spacing=10, margins=(16, 14, 16, 14))
        column.addWidget(title)
        column.addWidget(muted(INTRODUCTION))
        column.addLayout(row)
        column.addWidget(self.table)
        for widget in (self.does, Rule(), self.laws):
            column.addWidget(widget)
        column.addStretch(1)
        self.setWidget(card)

    def _fit(self) -> None:
        fit_table(self.table)
        self.does.setMinimumHeight(2 * self.fontMetrics().height())

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
