"""What every sweep of the Lab page has: Start, Cancel, a badge, how far it is."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QProgressBar, QPushButton, QWidget

from app.jobs import Finding, State
from app.panels.parts import Badge, column_in, row_in
from app.panels.parts import set_label_role as say
from app.theme import Theme, notifier
from app.views import sweep_words as words
from app.views.announce import announce
from app.views.elided import ElidedLabel
from core.events import LoadProgress
from core.lab.sweep_events import SweepFinished, SweepProgress, SweepStarted

PARTS = 1000


class SweepStrip(QWidget):
    """Asks for a sweep and says how far it is.

    Signals:
        start_asked: the button.
        cancel_asked: the button.
    """

    start_asked, cancel_asked = Signal(), Signal()

    def __init__(self, introduction: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.start, self.cancel = QPushButton("Start"), QPushButton("Cancel")
        self.bar = QProgressBar(textVisible=False, maximum=PARTS)
        self.outcome, self.badge = ElidedLabel(), Badge()
        self.going = False  # what was started here is under way
        self._cancelled = False
        self._end = ""  # how the last sweep ended early, until something else is asked
        self._configure(introduction)
        self._place()
        self.start.clicked.connect(self.start_asked)
        self.cancel.clicked.connect(self.cancel_asked)
        notifier().changed.connect(self._on_theme_changed)
        self.badge.show_word("", "accepted")

    def begin(self) -> None:
        """Say that a sweep gets ready."""
        self.going, self._cancelled, self._end = True, False, ""
        self.bar.setValue(0)
        self.badge.show_word("", "accepted")
        self.tell("muted", words.WAITING)

    def on_finding(self, finding: Finding) -> str:
        """Take in how far the sweep is; return words for the status line."""
        match finding:
            case SweepStarted():
                self.badge.show_word("MEASURED", "accepted", words.MEASURED)
                self._go_on(finding)
                self.tell("muted", words.started(finding))
            case SweepProgress():
                self._go_on(finding)
                say(self.outcome, "muted", words.progress(finding))
                return f"Sweeping: {words.progress(finding)}"
            case SweepFinished(cancelled=cancelled):
                self.going = False
                self.bar.setValue(self.bar.value() if cancelled else PARTS)
                self._end = words.ended(finding) if cancelled else ""
                self.tell("muted", words.ended(finding))
                return "Sweep cancelled" if cancelled else "Sweep finished"
            case LoadProgress(stage=stage):
                self.tell("muted", f"{stage}…")
            case _:
                pass
        return ""

    def show_recorded(self, sentence: str, *, complete: bool) -> None:
        """Say that what shows comes from a file, and what it stands in for."""
        self.badge.show_word("RECORDED", "draft", words.RECORDED)
        self.bar.setValue(PARTS if complete else 0)
        before = f"{self._end} {words.EARLIER}" if self._end else ""
        self.tell("muted", before or sentence)

    @Slot()
    def forget_end(self) -> None:
        """Say no more how the last sweep ended: a kept one was asked for."""
        self._end = ""

    def show_state(self, state: State) -> None:
        """Offer what can be done in ``state``."""
        self.start.setEnabled(not state.is_busy)
        self._cancelled |= self.going and state is State.STOPPING
        if not state.is_busy and self.going:  # no word of its end came
            self.going = False
            self._end = self._early_end()
            self.tell("muted", self._end)
        self.cancel.setEnabled(self.going and state is not State.STOPPING)

    def tell(self, role: str, sentence: str) -> None:
        """Show a sentence and have it spoken."""
        say(self.outcome, role, sentence)
        announce(self.outcome, sentence)

    def _early_end(self) -> str:
        if self.badge.text():  # it had begun
            return words.FAILED
        return words.CANCELLED if self._cancelled else words.NOT_BEGUN

    def _go_on(self, finding: SweepStarted | SweepProgress) -> None:
        share = finding.done_runs / max(1, finding.total_runs)
        self.bar.setValue(round(PARTS * share))

    def _configure(self, introduction: str) -> None:
        self.start.setProperty("primary", True)
        self.start.setAccessibleDescription(introduction)
        self.cancel.setAccessibleDescription("End the sweep; whole turns are kept.")
        self.bar.setFixedHeight(8)
        self.bar.setAccessibleName("Progress of the sweep")
        self._on_theme_changed(Theme.current())

    def _place(self) -> None:
        column, buttons = column_in(self, spacing=10), row_in()
        for widget in (self.start, self.cancel, self.badge):
            buttons.addWidget(widget)
        buttons.addWidget(self.outcome, 1)
        column.addLayout(buttons)
        column.addWidget(self.bar)

    @Slot(object)
    def _on_theme_changed(self, theme: Theme) -> None:
        self.outcome.setFixedHeight(self.fontMetrics().height() + 4)  # of any role
