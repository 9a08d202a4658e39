"""What the colours mean, one line each."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, Slot
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent, QTextLayout
from PySide6.QtWidgets import QGridLayout, QLabel, QSizePolicy, QWidget

from app.fonts import token_font
from app.theme import Theme, notifier
from app.views.elided import ElidedLabel

# Short words for a narrow column; the whole line is the tool tip and is spoken.
SHORT = {
    "accepted": "the target agreed",
    "resampled": "drawn after a refusal",
    "bonus": "extra, after all K",
    "rejected": "refused; on demand",
}
LINES = {
    "accepted": "The target agreed with the draft’s proposal.",
    "resampled": "The proposal was refused; this was drawn from the residual.",
    "bonus": "An extra token of the target’s, after all K were accepted.",
    "rejected": "A proposal that was refused; shown on demand.",
}


class Sample(QLabel):
    """A word drawn as its role is drawn in the text.

    Signals:
        none.
    """

    def __init__(self, role: str, parent: QWidget | None = None) -> None:
        super().__init__(role, parent)
        self._role = role
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        metrics = QFontMetricsF(token_font("small"))
        widest = max(metrics.horizontalAdvance(role) for role in LINES)
        return QSize(round(widest) + 10, round(metrics.height()) + 4)

    minimumSizeHint = sizeHint

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        theme = Theme.current()
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.color(self._role, "fill"))
        painter.drawRoundedRect(QRectF(self.rect()), 4, 4)
        draw_sample(painter, QRectF(self.rect()), self._role)


def draw_sample(painter: QPainter, room: QRectF, role: str) -> None:
    """Draw a role's name in its token format, through the same text engine."""
    layout = QTextLayout(role, token_font("small"))
    span = QTextLayout.FormatRange()
    span.start, span.length = 0, len(role)
    span.format = Theme.current().token_format(role)
    layout.setFormats([span])
    layout.beginLayout()
    line = layout.createLine()
    layout.endLayout()
    left = (room.width() - line.naturalTextWidth()) / 2
    layout.draw(
        painter, QRectF(left, (room.height() - line.height()) / 2, 0, 0).topLeft()
    )


class Legend(QWidget):
    """The four origins that need words, as they look in the text.

    Signals:
        none.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        layout = QGridLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setHorizontalSpacing(8)
        layout.setVerticalSpacing(5)
        layout.setColumnStretch(1, 1)
        for row, (role, words) in enumerate(SHORT.items()):
            sample, line = Sample(role), ElidedLabel("muted")
            sample.setToolTip(LINES[role])
            line.setText(words)
            layout.addWidget(sample, row, 0)
            layout.addWidget(line, row, 1)
        spoken = " ".join(f"{role}: {words}" for role, words in LINES.items())
        self.setAccessibleName("What the colours mean")
        self.setAccessibleDescription(spoken)
        notifier().changed.connect(self._on_theme_changed)

    @Slot(object)
    def _on_theme_changed(self, _: Theme) -> None:
        self.updateGeometry()
        self.update()
