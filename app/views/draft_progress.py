"""How far a draft in the making is: stage, time, two curves, and what came out."""

from __future__ import annotations

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QLabel, QProgressBar, QWidget

from app.panels.parts import column_in, muted, row_in, set_label_role
from app.theme import Theme, notifier
from app.views.announce import announce
from app.views.lane_curve import Look
from app.views.training_curve import TrainingCard, TrainingCurve
from core.distillation import words
from core.distillation.plan import DistillFinished, DistillProgress
from core.events import LoadProgress

PARTS = 1000
IDLE = "Nothing has been started yet."
TO_COME = (
    "When it is done: acceptance, tokens per round and speed-up, measured on prompts "
    "that it did not learn from."
)
NO_STEP, NO_LOOK = "no step yet", "not judged yet"
OUTCOME_LINES, CARD_LINES = 4, 9
LOSS = Look("loss", "loss", "plain", "solid", "o")
ACCEPTANCE = Look("expected acceptance", "acceptance", "accepted", "solid", "o")


class DraftProgress(QWidget):
    """Shows what it is told; keeps its size while words come and go.

    Signals:
        none.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.stage, self.left, self.bar = QLabel(), muted(), QProgressBar()
        self.detail, self.outcome = muted(), QLabel()
        self.loss = TrainingCard(TrainingCurve("Loss", "loss", LOSS, NO_STEP))
        self.acceptance = TrainingCard(
            TrainingCurve("Expected acceptance", "%", ACCEPTANCE, NO_LOOK)
        )
        self._dress()
        self._place()
        self.reset()
        notifier().changed.connect(self._on_theme_changed)

    def reset(self) -> None:
        """Show that nothing was started."""
        self.begin()
        set_label_role(self.stage, "muted", IDLE)
        set_label_role(self.outcome, "muted", TO_COME)

    def begin(self, *, keep_curves: bool = False) -> None:
        """Forget what was shown of the last one."""
        self.bar.setValue(0)
        for label in (self.outcome, self.detail, self.left):
            label.clear()
        if not keep_curves:
            self.loss.start_over()
            self.acceptance.start_over()

    def show_loading(self, progress: LoadProgress) -> None:
        """Show a stage of a load."""
        set_label_role(self.stage, "body", f"{progress.stage}…")
        self.detail.setText(progress.detail)
        self.left.clear()

    def show_progress(self, progress: DistillProgress) -> None:
        """Show how far it is, and add to the curves."""
        set_label_role(self.stage, "body", f"{progress.stage}…")
        self.detail.setText(" · ".join(words.details(progress)))
        seconds = progress.seconds_left
        self.left.setText("" if seconds is None else f"{words.time_left(seconds)} left")
        self.bar.setValue(round(PARTS * (progress.fraction or 0.0)))
        share = progress.acceptance
        self.loss.add(progress.tokens, progress.loss)
        self.acceptance.add(progress.tokens, None if share is None else 100 * share)

    def show_finished(self, finished: DistillFinished) -> str:
        """Say what came out, at length here; return it in short."""
        said = "Stopped" if finished.cancelled else "Done"
        said += "; the draft is chosen." if finished.folder else "."
        set_label_role(self.stage, "good" if finished.folder else "muted", said)
        self.left.clear()
        self.detail.clear()
        if not finished.cancelled:
            self.bar.setValue(PARTS)
        set_label_role(self.outcome, "body", "\n".join(words.outcome(finished)))
        announce(self.stage, f"{said} {self.outcome.text()}")
        return said

    def show_failure(self, sentence: str) -> None:
        """Say why it ended."""
        set_label_role(self.stage, "error", sentence)
        self.left.clear()
        self.detail.clear()
        announce(self.stage, sentence)

    def _dress(self) -> None:
        self.stage.setWordWrap(True)
        self.stage.setAccessibleName("What is being done")
        self.left.setWordWrap(False)
        self.bar.setRange(0, PARTS)
        self.bar.setTextVisible(False)
        self.bar.setFixedHeight(8)
        self.bar.setAccessibleName("Progress of the draft")
        self.outcome.setWordWrap(True)
        self.outcome.setTextInteractionFlags(_SELECTABLE)
        self.outcome.setAccessibleName("What came out")
        self.outcome.setAlignment(Qt.AlignmentFlag.AlignTop)

    def _place(self) -> None:
        column = column_in(self)
        head = row_in()
        head.addWidget(self.stage, 1)
        head.addWidget(self.left)
        column.addLayout(head)
        column.addWidget(self.bar)
        column.addWidget(self.detail)
        curves = row_in()
        curves.addWidget(self.loss, 1)
        curves.addWidget(self.acceptance, 1)
        column.addLayout(curves, 1)
        column.addWidget(self.outcome)
        self._fit()

    def _fit(self) -> None:
        """Keep the room of a line where words come and go, so that nothing jumps."""
        height = self.fontMetrics().height() + 2
        self.stage.setMinimumHeight(height)
        self.detail.setMinimumHeight(height)
        self.outcome.setMinimumHeight(OUTCOME_LINES * height)
        for card in (self.loss, self.acceptance):
            card.setMinimumHeight(CARD_LINES * height)

    @Slot(object)
    def _on_theme_changed(self, theme: Theme) -> None:
        self._fit()
        for card in (self.loss, self.acceptance):
            card.restyle(theme)
            card.refresh()


_SELECTABLE = (
    Qt.TextInteractionFlag.TextSelectableByMouse
    | Qt.TextInteractionFlag.TextSelectableByKeyboard
)
