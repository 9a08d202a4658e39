"""The law of the texts under each rule: who keeps most, and who changes the text."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QLabel,
    QPushButton,
    QTableWidgetItem,
    QWidget,
)

from app.panels.parts import column_in, muted, row_in
from app.theme import Theme, notifier
from app.views.announce import announce
from app.views.labels import number
from app.views.rules_table import fit_table, meter_cell, new_table
from core.lab.rules import CHEN, GREEDY, LawsSummed, RuleLaw

HEADINGS = ("Rule", "Acceptance", "", "Text's law", "")
METERS = {2, 4}
INTRODUCTION = (
    "On the pair and prompt of the Decode page, reduced to eight candidates a place, "
    "every path of the draws is summed: the law of the texts is exact, no sample."
)
IDLE = "Nothing is summed yet; press Sum the laws."
WAITING = "Getting ready…"
READING = "Reading the pair's logits on the small tree…"
SAME = 1e-9  # rounding of a sum over some hundred texts stays far below


class RuleLawsView(QWidget):
    """Asks for the laws and shows them.

    Signals:
        asked: the button.
    """

    asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.button, self.note = QPushButton("Sum the laws"), muted(IDLE)
        self.table, self.said = (
            new_table("Laws of the rules", HEADINGS, METERS),
            QLabel(),
        )
        self._found: LawsSummed | None = None
        self.going = False
        self._place()
        self.button.clicked.connect(self.asked)
        notifier().changed.connect(self._on_theme_changed)
        self._fit()
        self.table.hide()  # headings alone would promise rows

    def begin(self) -> None:
        """Say that the laws are being summed."""
        self.going, self._found = True, None
        self.table.hide()
        self.said.clear()
        self.tell(WAITING)

    def tell(self, sentence: str) -> None:
        """Show what goes on and have it spoken."""
        self.note.setText(sentence)
        announce(self.note, sentence)

    def stop(self) -> None:
        """Note that the job ended; without laws, it failed."""
        if self.going:
            self.going = False
            self.tell(IDLE)

    def show_laws(self, found: LawsSummed) -> str:
        """Show the laws of all rules; return words for the status line."""
        self._found, self.going = found, False
        self.table.setRowCount(len(found.laws))
        for row, law in enumerate(found.laws):
            self._show_law(row, law)
        self.table.show()
        self.tell(words_on(found))
        self.said.setText(lesson(found))
        announce(self.said, lesson(found))
        return "The laws of the rules are summed"

    def _show_law(self, row: int, law: RuleLaw) -> None:
        same = law.distance < SAME
        role = "accepted" if same else "error"
        told = "✓ the target's" if same else f"✗ {number(law.distance)} away"
        for column, text in enumerate((law.name, number(law.acceptance), "", told, "")):
            item = QTableWidgetItem(text)
            if column == 3:
                item.setForeground(Theme.current().color(role))
            self.table.setItem(row, column, item)
        keeps = "accepted" if law.lossless else "error"
        self.table.setCellWidget(row, 2, meter_cell(law.acceptance, keeps))
        away = 0.0 if same else law.distance  # a rounding error would leave a red dot
        self.table.setCellWidget(row, 4, meter_cell(away, "error"))

    def _place(self) -> None:
        title, row = QLabel("Whose text comes out?"), row_in(spacing=12)
        title.setProperty("role", "title")
        self.button.setProperty("primary", True)
        self.button.setAccessibleDescription(INTRODUCTION)
        self.said.setWordWrap(True)
        self.said.setAccessibleName("What the laws say")
        row.addWidget(self.button)
        row.addWidget(self.note, 1)
        column = column_in(self, spacing=10)
        column.addWidget(title)
        column.addWidget(muted(INTRODUCTION))
        column.addLayout(row)
        column.addWidget(self.table)
        column.addWidget(self.said)

    def _fit(self) -> None:
        fit_table(self.table)
        self.said.setMinimumHeight(2 * self.fontMetrics().height())
        self.said.setAlignment(Qt.AlignmentFlag.AlignTop)

    @Slot(object)
    def _on_theme_changed(self, theme: Theme) -> None:
        self._fit()
        if self._found is not None:
            self.show_laws(self._found)


def words_on(found: LawsSummed) -> str:
    """Return what the laws are over."""
    return (
        f"{found.outputs:,} texts of {found.tokens} tokens at temperature "
        f"{found.temperature:g}, summed exactly."
    )


def lesson(found: LawsSummed) -> str:
    """Return what the table teaches, in two sentences."""
    laws = {law.name: law for law in found.laws}
    chen, greedy = laws[CHEN], laws[GREEDY]
    kept = (
        f"Modified rejection keeps {number(chen.acceptance)} of the proposals and the "
        "target's law; no lossless rule keeps more."
    )
    if greedy.distance < SAME:
        return f"{kept} Greedy acceptance changes nothing on this prompt."
    return (
        f"{kept} Greedy acceptance is lossy: {100 * greedy.distance:.0f} % of the "
        "probability moves to other texts."
    )
