"""A label of one line that shortens its text instead of asking for room."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget


class ElidedLabel(QLabel):
    """Keeps its place while its text grows; the whole text is in the tool tip.

    Signals:
        none of its own.
    """

    def __init__(self, role: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("role", role)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def minimumSizeHint(self) -> QSize:
        return QSize(40, super().minimumSizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        room = self.contentsRect()
        shown = self.fontMetrics().elidedText(
            self.text(), Qt.TextElideMode.ElideRight, room.width()
        )
        self.setToolTip(self.text() if shown != self.text() else "")
        painter = QPainter(self)
        painter.setPen(self.palette().windowText().color())
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter | self.alignment(), shown)


class SteadyLabel(ElidedLabel):
    """As wide as its widest text where there is room, so that neighbours stay put.

    Signals:
        none of its own.
    """

    def __init__(self, widest: str, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._widest = widest
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        wide = self.fontMetrics().horizontalAdvance(self._widest)
        return QSize(wide, super().sizeHint().height())
