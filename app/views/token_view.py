"""The text of a lane, every token with its origin."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from PySide6.QtCore import QEvent, QMimeData, Qt, QTimer, Signal, Slot
from PySide6.QtGui import (
    QContextMenuEvent,
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QShowEvent,
    QTextCharFormat,
    QTextCursor,
    QTextOption,
)
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from app.fonts import enlarged, token_font
from app.theme import Theme, notifier
from app.views.labels import change
from app.views.token_map import TokenMap
from app.views.token_menu import token_menu
from app.views.token_paint import Geometry, draw_outline, draw_seam
from app.views.token_pointer import TokenPointer
from app.views.token_text import Piece, Recall, TokenText
from core.events import RoundFinished, SettingsChanged, TokenOutcome


class TokenView(QPlainTextEdit):
    """Shows tokens as they come, read-only; the true text is kept apart.

    Events only fill the model. One timer per turn of the event loop appends what is new
    in one edit block, so that a burst of rounds costs one layout.

    Signals:
        token_chosen: round index, place (0 where none was judged).
    """

    token_chosen = Signal(int, int)

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._name = name
        self._formats: dict[tuple[str, bool], QTextCharFormat] = {}
        self._with_rejected = False
        self._folded = True
        self._scale = 1.0
        self.recall: Recall = _itself  # finds the candidates of a round that has none
        self._timer = QTimer(self, singleShot=True, interval=0)
        self._timer.timeout.connect(self._on_due)
        self.geometry_of = Geometry(self)
        self._reset_state()
        self._configure()
        self._pointer = TokenPointer(self)
        notifier().changed.connect(self._on_theme_changed)

    def _configure(self) -> None:
        self.setReadOnly(True)
        self.setProperty("tokens", True)
        self.setUndoRedoEnabled(False)
        self.setFrameShape(QPlainTextEdit.Shape.NoFrame)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.document().setDocumentMargin(12)
        self.setTabChangesFocus(True)
        self.setCursorWidth(0)  # the outline shows where the keyboard is
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.viewport().setMouseTracking(True)
        self.setAccessibleName(self._name)
        self._dress()

    def _reset_state(self) -> None:
        self.model = TokenText()
        self.map = TokenMap()
        self._prompt_length = 0
        self._seams: list[tuple[int, str]] = []  # output token index, label
        self._marked: int | None = None

    # What happens in the run

    def start(self, prompt: tuple[TokenOutcome, ...]) -> None:
        """Begin a run: forget the last one and show its prompt."""
        self._pointer.forget()
        self._reset_state()
        self.model.set_prompt(prompt)
        self.rebuild()

    def add_round(self, event: RoundFinished) -> None:
        """Append a round's tokens on the next turn."""
        self.model.add_round(event)
        self._timer.start()

    def add_seam(self, event: SettingsChanged) -> None:
        """Mark where settings changed."""
        self._seams.append((event.position, change(event.before, event.after)))
        self.viewport().update()

    def finish(self, text: str) -> None:
        """Let the shown text be ``text`` exactly."""
        if self.model.finish(text):
            self.flush()
        else:
            self.rebuild()

    def show_rounds(self, count: int | None) -> None:
        """Show the text of the first rounds only; None for all of it.

        Costs as much as there is to add or to take away, so that a step is quick in a
        text of any length.
        """
        self.model.limit(count)
        if count is not None and not self.model.is_before(count):
            self._cut(count)
        self.flush()
        self.verticalScrollBar().setValue(self.verticalScrollBar().maximum())

    def _cut(self, round_index: int) -> None:
        """Take a round and all behind it away."""
        stops = self.stops_of_round(round_index)
        self.model.rewind_to(round_index)
        if not stops:
            return
        self._pointer.forget()
        cursor = QTextCursor(self.document())
        cursor.setPosition(self.map.cut(stops[0]))
        end, keep = QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor
        cursor.movePosition(end, keep)
        cursor.removeSelectedText()

    def clear(self) -> None:
        """Forget everything."""
        self.start(())

    # What a person asks for

    def set_show_rejected(self, wished: bool) -> None:
        """Fold refused and discarded proposals in or out, at the same place."""
        if wished != self._with_rejected:
            self._with_rejected = wished
            self.rebuild()

    def set_scale(self, factor: float) -> None:
        """Show the text so many times larger than usual."""
        if factor != self._scale:
            self._scale = factor
            self._dress()
            self.rebuild()

    def set_prompt_folded(self, folded: bool) -> None:
        """Show the last few lines of the prompt, or all of it."""
        if folded != self._folded:
            self._folded = folded
            self.rebuild()

    @property
    def prompt_folded(self) -> bool:
        """Whether only the last lines of the prompt are shown."""
        return self._folded

    def mark_round(self, round_index: int | None) -> None:
        """Outline the tokens of a round, or none."""
        self._marked = round_index
        self.viewport().update()

    def shown_text(self) -> str:
        """Return the true output text that is on screen."""
        self.flush()
        whole = self.map.true_text(0, self.map.length)
        return whole[self._prompt_length :]

    # Display

    @Slot()
    def flush(self) -> None:
        """Append what may be seen and is not yet."""
        self._timer.stop()
        self._append(self.model.take(self._with_rejected))

    def rebuild(self) -> None:
        """Lay the display out anew; the reader's place and focus stay."""
        anchor = self._pointer.anchor()
        self.model.rewind()
        self.map = TokenMap()
        self.setUpdatesEnabled(False)
        QPlainTextEdit.clear(self)
        self._append(self.model.take_prompt(self._folded))
        self._prompt_length = len(self.map.true_text(0, self.map.length))
        self._append(self.model.take(self._with_rejected))
        self.setUpdatesEnabled(True)
        self._pointer.restore(anchor)

    def _append(self, pieces: Iterable[Piece]) -> None:
        bar = self.verticalScrollBar()
        follow = bar.value() >= bar.maximum() - 1
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.beginEditBlock()
        for (role, odd), run in groupby(pieces, _look):
            text = "".join(self._shown(piece) for piece in run)
            if text:
                cursor.insertText(text, self._format(role, odd))
        cursor.endEditBlock()
        if follow:
            bar.setValue(bar.maximum())

    def _shown(self, piece: Piece) -> str:
        self.map.add(piece)
        return piece.shown

    def _format(self, role: str, odd: bool) -> QTextCharFormat:
        key = (role, odd)
        if key not in self._formats:
            self._formats[key] = Theme.current().token_format(role, odd)
        return self._formats[key]

    def _dress(self) -> None:
        self._formats.clear()
        self.setFont(enlarged(token_font(), self._scale))

    @Slot()
    def _on_due(self) -> None:
        if self.isVisible():  # a hidden view catches up when it is shown
            self.flush()

    @Slot(object)
    def _on_theme_changed(self, _: Theme) -> None:
        self._dress()
        self.rebuild()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.flush()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self.viewport())
        for start, end in self._marked_spans():
            draw_outline(painter, self.geometry_of.rects(start, end), 1.0)
        span = self._pointer.span()
        if span:
            draw_outline(painter, self.geometry_of.rects(*span), 2.0)
        self._paint_seams(painter)

    def _marked_spans(self) -> list[tuple[int, int]]:
        spans = (self.map.span(i) for i in self.stops_of_round(self._marked))
        shown = [(a, b) for a, b in spans if a < b]
        return [(shown[0][0], shown[-1][1])] if shown else []

    def stops_of_round(self, round_index: int | None) -> list[int]:
        """Return the indices in the map of what a round brought."""
        first = self.model.round_starts.get(-1 if round_index is None else round_index)
        found: list[int] = []
        for stop in self.model.stops[first:] if first is not None else ():
            if stop.round is None or stop.round.round_index != round_index:
                break
            index = self.map.index_of(stop)
            found += [] if index is None else [index]
        return found

    def _paint_seams(self, painter: QPainter) -> None:
        for position, text in self._seams:
            place = self._display_position(position)
            line = None if place is None else self.geometry_of.line_at(place)
            if line is not None:
                draw_seam(painter, self.viewport().width(), *line, text)

    def _display_position(self, token: int) -> int | None:
        """Return where the output token of that index begins in the display."""
        stop = self.model.token_stop(token)
        index = None if stop is None else self.map.index_of(stop)
        return None if index is None else self.map.starts[index]

    # Pointing

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        if event.buttons() == Qt.MouseButton.NoButton:
            self._pointer.hover(event.position().toPoint())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        left = event.button() == Qt.MouseButton.LeftButton
        if left and not self.textCursor().hasSelection():
            self._pointer.click(event.position().toPoint())

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._pointer.leave()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._pointer.hide_card()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = _STEPS.get(event.key())
        if step is not None and event.modifiers() == Qt.KeyboardModifier.NoModifier:
            self._pointer.walk(step)
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._pointer.choose()
        elif event.key() == Qt.Key.Key_Escape and self._pointer.stop is not None:
            self._pointer.forget()
        else:
            self._move_by(event)

    def _move_by(self, event: QKeyEvent) -> None:
        """Let Qt move its cursor (Up, Home, Page Down) and point where it went."""
        before = self.textCursor().position()
        super().keyPressEvent(event)
        cursor = self.textCursor()
        if cursor.position() != before and not cursor.hasSelection():
            self._pointer.follow_cursor()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        token_menu(self).exec(event.globalPos())

    def createMimeDataFromSelection(self) -> QMimeData:
        cursor, data = self.textCursor(), QMimeData()
        data.setText(self.map.true_text(cursor.selectionStart(), cursor.selectionEnd()))
        return data


_STEPS: dict[int, int] = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}


def _itself(event: RoundFinished) -> RoundFinished:
    return event


def _look(piece: Piece) -> tuple[str, bool]:
    # Plain text has one look only, so that a plain lane is appended in one piece.
    return piece.role, piece.odd and piece.role not in ("plain", "prompt")
