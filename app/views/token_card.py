"""The small card that says why a token is there."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, QRect, Qt, Signal
from PySide6.QtGui import QEnterEvent, QMouseEvent
from PySide6.QtWidgets import QFrame, QLabel, QVBoxLayout, QWidget

from app.fonts import token_font
from app.theme import set_role
from app.views.sentences import Card

WIDTH = 320
GAP = 6


class TokenCard(QFrame):
    """Floats above the window's other widgets, next to the token it explains.

    A child of the window and not a window of its own: it takes no focus, needs nothing
    of the window manager, and is in every screenshot.

    Signals:
        opened: the person asked to open the token's round.
        entered: the pointer came onto the card.
        left: the pointer left the card.
    """

    opened = Signal()
    entered = Signal()
    left = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("card", "floating")
        self.setFixedWidth(WIDTH)
        self._title = self._line("title")
        self._figures = self._line("")
        self._sentence = self._line("muted")
        self._cost = self._line("muted")
        self._action = self._line("link")
        self._action.setCursor(Qt.CursorShape.PointingHandCursor)
        self._window = parent
        layout = self._layout = QVBoxLayout(self)
        layout.setContentsMargins(14, 10, 14, 10)
        layout.setSpacing(4)
        for label in self._labels():
            layout.addWidget(label)
        self.hide()

    def tell(self, card: Card) -> None:
        """Show ``card``'s words; an empty line takes no room."""
        self._figures.setFont(token_font())
        texts = (card.title, card.figures, card.sentence, card.cost)
        action = f"{card.action} ⏎" if card.action else ""
        for label, text in zip(self._labels(), (*texts, action), strict=True):
            label.setText(text)
            label.setVisible(bool(text))

    def place_at(self, token: QRect) -> None:
        """Stand under ``token`` (in the parent's coordinates), above if need be."""
        self.setFixedHeight(self._layout.heightForWidth(WIDTH))
        room = self._window.rect().adjusted(GAP, GAP, -GAP, -GAP)
        left = min(max(room.left(), token.left() - 14), room.right() - WIDTH)
        below = token.bottom() + GAP
        fits = below + self.height() <= room.bottom()
        top = below if fits else token.top() - GAP - self.height()
        self.move(QPoint(left, max(room.top(), top)))
        self.show()
        self.raise_()

    def enterEvent(self, event: QEnterEvent) -> None:
        self.entered.emit()
        super().enterEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        self.left.emit()
        super().leaveEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self._action.text():
            self.opened.emit()
        event.accept()

    def _line(self, role: str) -> QLabel:
        label = QLabel(self)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setWordWrap(True)
        set_role(label, role=role)
        return label

    def _labels(self) -> tuple[QLabel, ...]:
        return (self._title, self._figures, self._sentence, self._cost, self._action)
