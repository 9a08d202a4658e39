"""What a race says, in one number and two lines."""

from __future__ import annotations

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QLabel, QWidget

from app.fonts import text_font
from app.theme import Theme, notifier
from app.views import verdict_sentences
from app.views.elided import ElidedLabel
from app.views.verdict_sentences import Verdict
from core.events import Event, RaceFinished, RaceStarted, RepeatFinished, RunStarted
from core.lab.run_advice import RunAdvice


class VerdictBar(QFrame):
    """Shows the speed-up of the last race and what it is worth.

    Signals:
        none.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("card", True)
        self._figure = QLabel()
        self._headline = ElidedLabel()
        self._detail = ElidedLabel("muted")
        self._shared = ElidedLabel("muted")
        self._shared.setText(verdict_sentences.SHARED)
        self._chip = QLabel()
        self._badge = QLabel()
        self._advice = RunAdvice()
        self._arrange()
        notifier().changed.connect(self._on_theme_changed)
        self.clear()

    def _arrange(self) -> None:
        self._badge.setProperty("role", "section")
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        self._chip.setAlignment(right)
        self._badge.setAlignment(right)
        words = QGridLayout()
        words.setHorizontalSpacing(14)
        words.setVerticalSpacing(1)
        words.setColumnStretch(0, 1)
        words.addWidget(self._headline, 0, 0, 1, 2)  # what matters has all the room
        words.addWidget(self._detail, 1, 0)
        words.addWidget(self._shared, 2, 0)
        words.addWidget(self._chip, 1, 1)
        words.addWidget(self._badge, 2, 1)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(14, 6, 14, 6)
        layout.setSpacing(14)
        layout.addWidget(self._figure)
        layout.addLayout(words, 1)

    def clear(self) -> None:
        """Forget the race."""
        self._advice.clear()
        self._repeats, self._repeat = 0, 0
        self._last: RepeatFinished | None = None
        self._tell(verdict_sentences.empty())

    def set_badge(self, text: str) -> None:
        """Say how the number came about: MEASURED, RECORDED or nothing."""
        self._badge.setText(text)

    def on_event(self, event: Event) -> None:
        """Take in one event."""
        match event:
            case RaceStarted():
                self.clear()
                self._repeats = event.repeats
                self._tell_running()
            case RunStarted(repeat=repeat) if self._repeats:
                self._repeat = repeat
                self._tell_running()
            case RunStarted():
                self.clear()
            case RepeatFinished():
                self._last = event
                self._tell_running()
            case RaceFinished():
                self._repeats = 0
                advice = self._advice.sentence()
                self._tell(verdict_sentences.finished(event, advice))
                self._figure.setToolTip(verdict_sentences.lane_times(event))
            case _:
                pass
        self._advice.on_event(event)  # after a clear, which forgets the last run

    def _tell_running(self) -> None:
        repeat = min(self._repeat, self._repeats)
        self._tell(verdict_sentences.running(repeat, self._repeats, self._last))

    def _tell(self, verdict: Verdict) -> None:
        self._verdict = verdict
        self._figure.setText(verdict.figure)
        self._figure.setToolTip("")
        self._headline.setText(verdict.headline)
        self._headline.set_shorter(*verdict.shorter())
        self._detail.setText(verdict.detail)
        self._detail.set_shorter(*verdict.shorter_details())
        self._detail.setVisible(bool(verdict.detail))
        self._chip.setText(verdict.chip)
        self._chip.setVisible(bool(verdict.chip))  # or its line would stay empty
        self.setAccessibleName("Verdict")
        spoken = (verdict.figure, verdict.headline, verdict.detail, verdict.chip)
        self.setAccessibleDescription(" ".join(filter(None, spoken)))
        self._dress(Theme.current())
        self._fit_words()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_words()

    def _fit_words(self) -> None:
        """Give a headline that is too long for one line the room of the last one."""
        measured = self._verdict.figure != verdict_sentences.NONE
        self._headline.set_lines(1 if self._headline.fits() else 2)
        self._shared.setVisible(self._headline.fits())
        self._badge.setVisible(measured and self._headline.fits())

    def _dress(self, theme: Theme) -> None:
        self._figure.setFont(text_font("figure", bold=True))
        width = self._figure.fontMetrics().horizontalAdvance("0.00×")
        self._figure.setMinimumWidth(width)  # so that no number moves the words
        line = self._headline.fontMetrics().height() + 2
        self.setFixedHeight(3 * line + 12)  # the same with two lines as with three
        color = theme.color(self._verdict.role).name()
        self._figure.setStyleSheet(f"color: {color}")
        self._chip.setStyleSheet(f"color: {color}; font-weight: 600")

    @Slot(object)
    def _on_theme_changed(self, theme: Theme) -> None:
        self._dress(theme)
