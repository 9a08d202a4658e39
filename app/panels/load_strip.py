"""A strip under the bar while something long goes on: what, how far, Cancel."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QFrame,
    QLabel,
    QProgressBar,
    QPushButton,
    QWidget,
)

from app.panels.parts import GAP, muted, row_in
from core.events import LoadProgress, PrefillProgress

PARTS = 1000


class LoadStrip(QFrame):
    """Progress of a load, a download or a long prompt.

    Signals:
        cancel_asked: the button.
    """

    cancel_asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("card", True)
        self.stage = QLabel()
        self.detail = muted()
        self.detail.setWordWrap(False)
        self.bar = QProgressBar(textVisible=False, maximum=PARTS)
        self.bar.setFixedHeight(8)
        self.bar.setAccessibleName("Progress")
        self.cancel = QPushButton("Cancel")
        self.cancel.setAccessibleDescription("End what goes on; nothing is kept.")
        self.cancel.clicked.connect(self.cancel_asked)
        row = row_in(self, spacing=12, margins=(14, GAP, GAP, GAP))
        row.addWidget(self.stage)
        row.addWidget(self.bar, 1)
        row.addWidget(self.detail)
        row.addWidget(self.cancel)
        self.hide()

    def show_progress(self, progress: LoadProgress) -> None:
        """Show how far a load is."""
        self._show(progress.stage, progress.fraction, progress.detail)

    def show_prefill(self, progress: PrefillProgress) -> None:
        """Show how far the prompt is read; a short one is not worth a strip."""
        if progress.done < progress.total:
            detail = f"{progress.done:,} of {progress.total:,} tokens"
            self._show("Reading the prompt", progress.done / progress.total, detail)
        else:
            self.hide()

    def _show(self, stage: str, fraction: float | None, detail: str) -> None:
        self.stage.setText(stage)
        self.detail.setText(detail)
        self.bar.setMaximum(0 if fraction is None else PARTS)
        self.bar.setValue(0 if fraction is None else round(fraction * PARTS))
        self.bar.setAccessibleDescription(f"{stage} {detail}")
        self.show()
