"""The guided tour: one round of a real recording, explained in five steps."""

from __future__ import annotations

from PySide6.QtCore import QRect, QSize, Qt, Slot
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QDialog, QLabel, QPushButton, QWidget

from app.fonts import text_font
from app.panels.parts import Badge, column_in, muted, row_in
from app.theme import Theme, notifier
from app.tour_steps import Step
from app.views.announce import announce
from app.views.candidate_bars import CandidateBars
from app.views.elided import ElidedLabel
from app.views.round_strip import RoundStrip

RECORDED = "Every token and number here is from real runs, recorded on a CPU."
BEFORE = 60  # characters of the text that stands before the round
MARGIN = QSize(40, 60)  # what a window keeps free of the screen


class Tour(QDialog):
    """Steps through the explanation; arrows and buttons turn the pages."""

    def __init__(self, steps: tuple[Step, ...], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("A round of speculative sampling, in five steps")
        self._steps, self.index = steps, 0
        self._title, self._words = QLabel(), QLabel()
        self._count, self._before = muted(), ElidedLabel("muted")
        self.strip, self.bars = RoundStrip(), CandidateBars()
        self._bars_title = muted()
        self.back, self.next = QPushButton("&Back"), QPushButton("&Next")
        self.close_button = QPushButton("Close")
        self._badge = Badge()
        self._place()
        self._wire()
        self._fit()
        self.show_step(0)

    def show_step(self, index: int) -> None:
        """Open a page."""
        self.index = max(0, min(index, len(self._steps) - 1))
        step = self._steps[self.index]
        self._title.setText(step.stage.name.capitalize())
        self._count.setText(f"Step {self.index + 1} of {len(self._steps)}")
        self._words.setText(step.words)
        self._before.setText(f"…{step.before[-BEFORE:]}▏".replace("\n", "↵"))
        self.strip.show_round(step.event, step.stage)
        self._show_bars(step)
        self.back.setEnabled(self.index > 0)
        last = self.index == len(self._steps) - 1
        self.next.setText("&Done" if last else "&Next")
        announce(self, f"{self._title.text()}. {step.words}")

    def _show_bars(self, step: Step) -> None:
        self._bars_title.setText(step.bars_title)
        self.bars.show_rows(list(step.bars))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Right, Qt.Key.Key_PageDown):
            self.show_step(self.index + 1)
        elif event.key() in (Qt.Key.Key_Left, Qt.Key.Key_PageUp):
            self.show_step(self.index - 1)
        else:
            super().keyPressEvent(event)

    @Slot()
    def _on_back_clicked(self) -> None:
        self.show_step(self.index - 1)

    @Slot()
    def _on_next_clicked(self) -> None:
        if self.index == len(self._steps) - 1:
            self.accept()
        else:
            self.show_step(self.index + 1)

    # Building ---------------------------------------------------------------------

    def _place(self) -> None:
        self._title.setProperty("role", "figure")
        top = row_in(spacing=12)
        top.addWidget(self._title)
        top.addStretch(1)
        top.addWidget(self._count)
        top.addWidget(self._badge)
        buttons = row_in()
        buttons.addWidget(self.close_button)
        buttons.addStretch(1)
        buttons.addWidget(self.back)
        buttons.addWidget(self.next)
        column = column_in(self, spacing=14, margins=(24, 20, 24, 18))
        column.addLayout(top)
        column.addWidget(self._words)
        column.addWidget(self._before)
        column.addWidget(self.strip)
        column.addWidget(self._bars_title)
        column.addWidget(self.bars, 1)
        column.addLayout(buttons)

    def _wire(self) -> None:
        self._words.setWordWrap(True)
        self._words.setTextFormat(Qt.TextFormat.PlainText)
        self._words.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._before.setAccessibleName("The text before")
        self._badge.show_word("RECORDED", "bonus", RECORDED)
        self.next.setProperty("primary", True)
        self.next.setDefault(True)
        self.back.setAutoDefault(False)
        self.close_button.setAutoDefault(False)
        self.back.clicked.connect(self._on_back_clicked)
        self.next.clicked.connect(self._on_next_clicked)
        self.close_button.clicked.connect(self.reject)
        notifier().changed.connect(self._on_theme_changed)

    def _fit(self) -> None:
        self._words.setFont(text_font("title"))
        screen = self.screen().availableGeometry().size() - MARGIN
        metrics = self.fontMetrics()
        width = max(760, metrics.horizontalAdvance("x") * 100)
        wished = QSize(width, self.sizeHint().height() + 3 * metrics.height())
        self.resize(wished.boundedTo(screen))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._words.setFixedHeight(self._room_for_words())

    def _room_for_words(self) -> int:
        """Return the height of the longest words, so that no step moves the rest."""
        metrics, wide = self._words.fontMetrics(), self._words.width()
        room = QRect(0, 0, wide, 10_000)
        wrap = Qt.TextFlag.TextWordWrap
        texts = (metrics.boundingRect(room, wrap, step.words) for step in self._steps)
        return max(text.height() for text in texts) + metrics.leading() + 2

    @Slot(object)
    def _on_theme_changed(self, theme: Theme) -> None:
        self._fit()
