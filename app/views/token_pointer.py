"""Pointing at tokens, by mouse and by keys, and the card that answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, QPointF, QRect, QTimer, Slot
from PySide6.QtGui import QTextCursor

from app.views.announce import announce
from app.views.sentences import Card, place_card, token_card
from app.views.token_card import TokenCard
from app.views.token_text import Stop, whole

if TYPE_CHECKING:
    from app.views.token_view import TokenView

HOVER_MS = 60
LINGER_MS = 250  # time to move the pointer from the token onto its card


@dataclass(frozen=True, slots=True)
class Anchor:
    """The reader's place, kept while the display is laid out anew."""

    focus: Stop | None
    top: Stop | None
    at_end: bool


def card_of(stop: Stop) -> Card:
    """Return the words for anything that can be pointed at."""
    if stop.place is not None and stop.round is not None:
        return place_card(stop.place, stop.round)
    assert stop.token is not None
    return token_card(stop.token, stop.round)


class TokenPointer(QObject):
    """Knows which token is pointed at and keeps its card beside it."""

    def __init__(self, view: TokenView) -> None:
        super().__init__(view)
        self._view = view
        self._index: int | None = None
        self._by_keys = False
        self._mouse = QPoint()
        self._card: TokenCard | None = None
        self._hover = QTimer(self, singleShot=True, interval=HOVER_MS)
        self._hover.timeout.connect(self._on_hover_due)
        self._linger = QTimer(self, singleShot=True, interval=LINGER_MS)
        self._linger.timeout.connect(self._on_linger_over)
        view.verticalScrollBar().valueChanged.connect(self._on_scrolled)

    @property
    def stop(self) -> Stop | None:
        """What is pointed at."""
        return None if self._index is None else self._view.map.stops[self._index]

    def span(self) -> tuple[int, int] | None:
        """Return where the token pointed at stands in the display."""
        return None if self._index is None else self._view.map.span(self._index)

    # By mouse

    def hover(self, point: QPoint) -> None:
        """Note where the pointer is; the card follows once it rests."""
        self._mouse = point
        if not self._hover.isActive():
            self._hover.start()

    def leave(self) -> None:
        """The pointer left the text; the card stays a moment."""
        self._hover.stop()
        if not self._by_keys:
            self._linger.start()

    def index_under(self, point: QPoint) -> int | None:
        """Return the stop whose glyphs are under a point of the viewport."""
        view, where = self._view, QPointF(point)
        cursor = view.cursorForPosition(point)
        position = cursor.position()
        # The nearest gap between two glyphs may lie behind the one meant.
        if view.cursorRect(cursor).left() > point.x():
            position -= 1
        index = view.map.index_at(max(0, position))
        rects = [] if index is None else view.geometry_of.rects(*view.map.span(index))
        return index if any(r.contains(where) for r in rects) else None

    def click(self, point: QPoint) -> None:
        """Choose the token under the pointer, or unfold the prompt."""
        index = self.index_under(point)
        if index is not None:
            self.point_at(index, by_keys=False)
            self.choose()
        elif self._view.map.is_mark(self._view.cursorForPosition(point).position()):
            self._view.set_prompt_folded(False)

    @Slot()
    def _on_hover_due(self) -> None:
        index = self.index_under(self._mouse)
        if index is not None:
            self._linger.stop()
            self.point_at(index, by_keys=False)
        elif not self._by_keys:
            self._linger.start()

    @Slot()
    def _on_linger_over(self) -> None:
        if not self._by_keys:
            self.forget()

    # By keys

    def walk(self, step: int) -> None:
        """Point at the next or previous token."""
        count = len(self._view.map.stops)
        if not count:
            return
        start = self._start(step) if self._index is None else self._index + step
        self.point_at(min(max(start, 0), count - 1), by_keys=True)

    def _start(self, step: int) -> int:
        stops = self._view.map.stops
        first = next((i for i, s in enumerate(stops) if s.round is not None), 0)
        return first if step > 0 else len(stops) - 1

    def follow_cursor(self) -> None:
        """Point at the token where the text cursor went by Up, Down, Home, ..."""
        index = self._view.map.index_near(self._view.textCursor().position())
        if index is not None:
            self.point_at(index, by_keys=True)

    def choose(self) -> None:
        """Open the round of the token pointed at."""
        stop = self.stop
        if stop is None or stop.round is None:
            return
        judged = stop.place.index if stop.place else stop.token and stop.token.place
        self._view.token_chosen.emit(stop.round.round_index, judged or 0)

    # The card

    def point_at(self, index: int, *, by_keys: bool) -> None:
        """Point at a stop: outline it, show its card, tell it to a screen reader."""
        if index == self._index and self._card and self._card.isVisible():
            return
        self._index, self._by_keys = index, by_keys
        if by_keys:
            self._move_cursor(self._view.map.starts[index])
        card = card_of(whole(self._view.map.stops[index], self._view.recall))
        announce(self._view, card.spoken())
        self._show(card)
        self._view.viewport().update()

    def forget(self) -> None:
        """Point at nothing."""
        self._index, self._by_keys = None, False
        self.hide_card()
        self._view.viewport().update()

    def hide_card(self) -> None:
        """Take the card away; what is pointed at stays."""
        self._hover.stop()
        self._linger.stop()
        if self._card is not None:
            self._card.hide()

    def _move_cursor(self, position: int) -> None:
        cursor = QTextCursor(self._view.document())
        cursor.setPosition(position)
        self._view.setTextCursor(cursor)
        self._view.ensureCursorVisible()

    def _show(self, card: Card) -> None:
        if self._card is None or self._card.parentWidget() is not self._view.window():
            self._card = self._make_card()
        rects = self._rects()
        if not rects or not self._view.isVisible():
            self._card.hide()
            return
        self._card.tell(card)
        self._card.place_at(rects[-1])

    def _make_card(self) -> TokenCard:
        card = TokenCard(self._view.window())
        card.opened.connect(self.choose)
        card.entered.connect(self._linger.stop)
        card.left.connect(self.leave)
        return card

    def _rects(self) -> list[QRect]:
        """Return the visible rectangles of the token, in the window's coordinates."""
        span, port = self.span(), self._view.viewport()
        rects = [] if span is None else self._view.geometry_of.rects(*span)
        inside = [r.toRect() for r in rects if port.rect().intersects(r.toRect())]
        offset = port.mapTo(self._view.window(), QPoint(0, 0))
        return [r.translated(offset) for r in inside]

    @Slot()
    def _on_scrolled(self) -> None:
        if self._card is None or not self._card.isVisible():
            return
        rects = self._rects() if self._by_keys else []
        if rects:
            self._card.place_at(rects[-1])
        else:
            self.hide_card()

    # Laying the display out anew

    def anchor(self) -> Anchor:
        """Return the reader's place in terms that outlive the display."""
        view, bar = self._view, self._view.verticalScrollBar()
        top = view.map.index_near(view.cursorForPosition(QPoint(0, 0)).position())
        stop = None if top is None else view.map.stops[top]
        return Anchor(self.stop, stop, bar.value() >= bar.maximum() - 1)

    def restore(self, anchor: Anchor) -> None:
        """Go back to the reader's place in the new display."""
        view, bar = self._view, self._view.verticalScrollBar()
        self._index = view.map.index_of(anchor.focus) if anchor.focus else None
        top = view.map.index_of(anchor.top) if anchor.top else None
        if anchor.at_end:
            bar.setValue(bar.maximum())
        elif top is not None:
            bar.setValue(view.geometry_of.line_number(view.map.starts[top]))
        if self._index is None:
            self.hide_card()
