"""A label of one line that shortens its text instead of asking for room."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget


class ElidedLabel(QLabel):
    """Keeps its place while its text grows; the whole text is in the tool tip.

    Signals:
        none of its own.
    """

    def __init__(self, role: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shorter: tuple[str, ...] = ()
        self._lines = 1
        self._known: tuple[object, list[str]] = None, []
        self.setProperty("role", role)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def set_shorter(self, *texts: str) -> None:
        """Show the first of ``texts`` that has room where the whole one has not.

        The last of them is cut where none has.
        """
        shorter = tuple(filter(None, texts))
        if shorter != self._shorter:
            self._shorter = shorter
            self.update()

    def set_lines(self, lines: int) -> None:
        """Break the text into so many lines before it is cut."""
        if lines != self._lines:
            self._lines = lines
            self.updateGeometry()

    def sizeHint(self) -> QSize:
        metrics, edges = self.fontMetrics(), self.contentsMargins()
        # QLabel's own height differs by a pixel where the text is empty.
        high = metrics.height() + (self._lines - 1) * metrics.lineSpacing()
        return QSize(super().sizeHint().width(), high + edges.top() + edges.bottom())

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self.updateGeometry()  # QLabel does so only where it has a text

    def fits(self) -> bool:
        """Return whether the whole text has room in one line."""
        wide = self.fontMetrics().horizontalAdvance(self.text())
        return wide <= self.contentsRect().width()

    def shown(self) -> str:
        """Return the longest text that has room in the lines, else the shortest."""
        texts = (self.text(), *self._shorter)
        return next((t for t in texts if " ".join(self._broken(t)) == t), texts[-1])

    def _shown_lines(self) -> list[str]:
        """Return the lines to paint; what is painted again need not be measured."""
        size, font = self.contentsRect().size(), self.font().key()
        given = self.text(), self._shorter, self._lines, size, font
        if self._known[0] != given:
            self._known = given, self._broken(self.shown())
        return self._known[1]

    def _broken(self, text: str) -> list[str]:
        room = self.contentsRect().width()
        return broken(text, self.fontMetrics(), room, self._lines)

    def minimumSizeHint(self) -> QSize:
        return QSize(40, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        room = self.contentsRect()
        shown = self._shown_lines()
        whole = " ".join(shown) == self.text()
        self.setToolTip("" if whole else self.text())
        painter = QPainter(self)
        painter.setPen(self.palette().windowText().color())
        flags = Qt.AlignmentFlag.AlignVCenter | self.alignment()
        painter.drawText(room, flags, "\n".join(shown))


def broken(text: str, metrics: QFontMetrics, width: int, lines: int) -> list[str]:
    """Return ``text`` in at most ``lines`` lines; the end of the last may be cut."""
    words, shown = text.split(" "), []
    while words and len(shown) + 1 < lines:
        line = words.pop(0)
        while words and metrics.horizontalAdvance(f"{line} {words[0]}") <= width:
            line = f"{line} {words.pop(0)}"
        shown.append(line)
    rest = metrics.elidedText(" ".join(words), Qt.TextElideMode.ElideRight, width)
    return [*shown, rest] if words else shown


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
