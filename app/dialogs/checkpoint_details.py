"""Everything that is known of the checkpoint in focus, and fetching it from the hub."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QLabel,
    QProgressBar,
    QPushButton,
    QScrollArea,
    QWidget,
)

from app.item_models.pick_tree import ROLES, SIGNS
from app.panels.parts import column_in, muted, set_label_role
from app.picks import Pick
from core.events import LoadProgress

NOTHING = "Choose a checkpoint to read what it is."
ASKING = "Asking for its size…"


class CheckpointDetails(QScrollArea):
    """Name, verdict, reason, facts; and for a model on the hub the way to fetch it.

    Signals:
        fetch_asked: the person wants the model of the hub that shows.
        cancel_asked: the transfer should end.
    """

    fetch_asked = Signal()
    cancel_asked = Signal()

    def __init__(self) -> None:
        super().__init__(widgetResizable=True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName("What it is")
        self.name, self.verdict, self.sentence = QLabel(), QLabel(), muted()
        self.fetch, self.cancel = QPushButton("Fetch"), QPushButton("Stop fetching")
        self.bar, self.arrived = QProgressBar(), muted()
        self.facts = QGridLayout()
        self._place()
        self.fetch.clicked.connect(self.fetch_asked)
        self.cancel.clicked.connect(self.cancel_asked)
        self.show_pick(None)

    def show_pick(self, pick: Pick | None) -> None:
        """Show an entry; None for a heading, or for nothing."""
        self.name.setText(pick.name if pick else NOTHING)
        fit = pick.fit if pick else ""
        text = f"{SIGNS.get(fit, '')} {fit}".strip()
        set_label_role(self.verdict, ROLES.get(fit, "muted"), text)
        self.verdict.setVisible(bool(fit))
        self.sentence.setText(pick.sentence if pick else "")
        self.sentence.setVisible(bool(pick and pick.sentence))
        self._show_rows(pick.rows if pick else ())
        self.fetch.setVisible(bool(pick and pick.on_hub))
        self.fetch.setEnabled(False)
        self.fetch.setText(ASKING)

    def show_size(self, size: str) -> None:
        """Offer the download, now that its size is known."""
        self.fetch.setText(f"Fetch {size}")
        self.fetch.setEnabled(True)

    def show_progress(self, progress: LoadProgress | None) -> None:
        """Show how far the transfer is; None: none runs."""
        for widget in (self.bar, self.arrived, self.cancel):
            widget.setVisible(progress is not None)
        if progress is None:
            return
        self.fetch.hide()
        known = progress.fraction is not None
        self.bar.setRange(0, 1000 if known else 0)
        if known:
            self.bar.setValue(round(1000 * (progress.fraction or 0.0)))
        self.arrived.setText(progress.detail if known else progress.stage)

    def show_failure(self, sentence: str) -> None:
        """Say why the hub did not give what was asked."""
        set_label_role(self.verdict, "error", sentence)
        self.verdict.show()
        self.fetch.hide()

    def _place(self) -> None:
        inner = QWidget()
        column = column_in(inner, spacing=10, margins=(12, 4, 8, 4))
        self.name.setProperty("role", "title")
        for label in (self.name, self.verdict):
            label.setWordWrap(True)
        self.facts.setHorizontalSpacing(12)
        self.facts.setVerticalSpacing(5)
        self.facts.setColumnStretch(1, 1)
        self.bar.setFixedHeight(8)
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName("How much of the model has arrived")
        for widget in (self.name, self.verdict, self.sentence):
            column.addWidget(widget)
        column.addLayout(self.facts)
        for widget in (self.fetch, self.bar, self.arrived, self.cancel):
            column.addWidget(widget)
        column.addStretch(1)
        self.setWidget(inner)
        self.show_progress(None)

    def _show_rows(self, rows: tuple[tuple[str, str], ...]) -> None:
        while (item := self.facts.takeAt(0)) is not None:
            widget = item.widget()
            assert widget is not None
            widget.hide()
            widget.deleteLater()
        for row, (name, value) in enumerate(rows):
            label, text = muted(name), QLabel(value, wordWrap=True)
            label.setWordWrap(False)
            text.setTextInteractionFlags(_SELECTABLE)
            text.setAccessibleName(f"{name}: {value}")
            self.facts.addWidget(label, row, 0, _TOP)
            self.facts.addWidget(text, row, 1, _TOP)


_TOP = Qt.AlignmentFlag.AlignTop
_SELECTABLE = Qt.TextInteractionFlag.TextSelectableByMouse
