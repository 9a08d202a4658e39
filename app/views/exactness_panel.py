"""``verify`` in the window, with the switch that breaks the rule for teaching."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, Signal, Slot
from PySide6.QtWidgets import (
    QAbstractItemView,
    QComboBox,
    QFrame,
    QHeaderView,
    QLabel,
    QProgressBar,
    QPushButton,
    QTableView,
    QWidget,
)

from app.item_models.checks_table import HEADINGS, NAME, ChecksTable
from app.jobs import Finding, State
from app.panels.parts import column_in, muted, row_in, set_label_role
from app.theme import Theme, notifier
from app.views import exactness_words as words
from app.views.announce import announce
from app.views.elided import ElidedLabel
from core.events import LoadProgress
from core.lab.checks import CheckFinished, ChecksFinished, CheckStarted
from core.lab.mistakes import MISTAKES, Mistake

PARTS = 1000
ROWS = 5  # one more than there are checks; more would scroll


class ExactnessPanel(QFrame):
    """Starts the checks, shows how far they are and what they found.

    Signals:
        verify_asked: the name of the mutant to break the rule with, or "".
        cancel_asked: the button.
    """

    verify_asked = Signal(str)
    cancel_asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("card", True)
        self.rule, self.lesson = QComboBox(), QLabel()
        self.verify, self.cancel = QPushButton("Verify"), QPushButton("Cancel")
        self.bar = QProgressBar(textVisible=False, maximum=PARTS)
        self.outcome, self.detail = ElidedLabel(), muted()
        self.table, self.checks = QTableView(), ChecksTable()
        self._going = False
        self._broken: Mistake | None = None  # what the checks on screen ran with
        self._configure()
        self._configure_table()
        self._place()
        self._wire()
        self._on_rule_chosen(0)
        self.show_state(State.IDLE)

    def mistake(self) -> Mistake | None:
        """Return the mistake that is chosen; None for the rule as it is."""
        return self.rule.currentData()

    def begin(self) -> None:
        """Forget the last checks; the ones asked for are about to run."""
        self.checks.clear()
        self._going, self._broken = True, self.mistake()
        self.detail.clear()
        self._tell("muted", words.WAITING)

    def on_finding(self, finding: Finding) -> str:
        """Take in what the checks tell; return words for the status line."""
        match finding:
            case CheckStarted(name=name, fraction=fraction):
                self.checks.begin(name)
                self.bar.setValue(round(PARTS * fraction))
                self._tell("muted", words.checking(name))
                return words.checking(name)
            case CheckFinished(check=check):
                self.checks.add(check)
                self.table.selectRow(len(self.checks.checks) - 1)
            case ChecksFinished():
                return self._end(finding)
            case LoadProgress(stage=stage) if self._going:
                self._tell("muted", f"{stage}…")
            case _:
                pass
        return ""

    def show_state(self, state: State) -> None:
        """Offer what can be done in ``state``."""
        self.verify.setEnabled(not state.is_busy)
        self.rule.setEnabled(not state.is_busy)
        if not state.is_busy:
            self._stop_going()
        self.cancel.setEnabled(self._going and state is not State.STOPPING)

    def _end(self, found: ChecksFinished) -> str:
        self.checks.end()
        self._going = False
        role, sentence = words.outcome(found, self._broken)
        self.bar.setValue(0 if found.cancelled else PARTS)
        self._tell(role, sentence)
        return sentence

    def _stop_going(self) -> None:
        """Note that the job ended without a word of the checks: it failed."""
        if self._going:
            self._going = False
            self.checks.end()
            self._tell("muted", words.IDLE)
        if not self.checks.checks:
            self.bar.setValue(0)

    def _tell(self, role: str, sentence: str) -> None:
        set_label_role(self.outcome, role, sentence)
        announce(self.outcome, sentence)

    # Building ---------------------------------------------------------------------

    def _configure(self) -> None:
        self.rule.addItem(words.RIGHT, None)
        for mistake in MISTAKES:
            self.rule.addItem(words.broken(mistake), mistake)
        self.rule.setAccessibleName("Rule")
        self.verify.setProperty("primary", True)
        self.verify.setAccessibleDescription(words.INTRODUCTION)
        self.cancel.setAccessibleDescription("End the checks; what was found stays.")
        self.bar.setFixedHeight(8)
        self.bar.setAccessibleName("Progress of the checks")
        self.lesson.setWordWrap(True)
        self.lesson.setAccessibleName("What the rule does")
        self.detail.setAccessibleName("What the check says")

    def _configure_table(self) -> None:
        table = self.table
        table.setModel(self.checks)
        table.setAccessibleName("Checks")
        table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        table.setTabKeyNavigation(False)
        table.setShowGrid(False)
        table.setWordWrap(False)
        table.verticalHeader().hide()
        header = table.horizontalHeader()
        header.setHighlightSections(False)
        for column in range(len(HEADINGS)):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Fixed)
        header.setSectionResizeMode(NAME, QHeaderView.ResizeMode.Stretch)
        self._fit()

    def _fit(self) -> None:
        """Give each column the room of its widest text, so that none moves."""
        metrics, header = self.fontMetrics(), self.table.horizontalHeader()
        for column, widest in enumerate(words.WIDEST):
            if column != NAME:
                room = max(widest, HEADINGS[column], key=len)
                header.resizeSection(column, metrics.horizontalAdvance(room) + 18)
        row = metrics.height() + 10
        self.table.verticalHeader().setDefaultSectionSize(row)
        self.table.setFixedHeight((ROWS + 1) * row + 8)
        self.outcome.setFixedHeight(metrics.height() + 4)  # its roles differ in size
        self.lesson.setMinimumHeight(2 * metrics.height() + 2)
        self.detail.setMinimumHeight(2 * metrics.height() + 2)

    def _place(self) -> None:
        title = QLabel("Is it lossless?")
        title.setProperty("role", "title")
        buttons = row_in()
        buttons.addWidget(self.verify)
        buttons.addWidget(self.cancel)
        buttons.addSpacing(12)
        label = QLabel("R&ule")
        label.setBuddy(self.rule)
        buttons.addWidget(label)
        buttons.addWidget(self.rule)
        buttons.addStretch(1)
        column = column_in(self, spacing=10, margins=(16, 14, 16, 14))
        column.addWidget(title)
        column.addWidget(muted(words.INTRODUCTION))
        column.addLayout(buttons)
        for widget in (self.lesson, self.bar, self.outcome):
            column.addWidget(widget)
        column.addWidget(self.table)
        column.addWidget(self.detail)
        column.addStretch(1)

    def _wire(self) -> None:
        self.verify.clicked.connect(self._on_verify_clicked)
        self.cancel.clicked.connect(self.cancel_asked)
        self.rule.currentIndexChanged.connect(self._on_rule_chosen)
        self.table.selectionModel().currentRowChanged.connect(self._on_row_chosen)
        notifier().changed.connect(self._on_theme_changed)

    @Slot()
    def _on_verify_clicked(self) -> None:
        mistake = self.mistake()
        self.verify_asked.emit(mistake.mutant if mistake else "")

    @Slot(int)
    def _on_rule_chosen(self, _: int) -> None:
        mistake = self.mistake()
        role, sentence = words.lesson(mistake)
        set_label_role(self.lesson, role, sentence)
        if mistake != self._broken or not self.checks.checks:
            # The verdicts on the last rule must not stand under another one.
            self.checks.clear()
            self.detail.clear()
            self.bar.setValue(0)
            self._broken = mistake
            self._tell("muted", words.IDLE)

    @Slot(QModelIndex, QModelIndex)
    def _on_row_chosen(self, now: QModelIndex, _: QModelIndex) -> None:
        check = self.checks.check_at(now.row())
        if check is not None:
            self.detail.setText(check.detail)

    @Slot(object)
    def _on_theme_changed(self, theme: Theme) -> None:
        self._fit()
        self.table.viewport().update()
