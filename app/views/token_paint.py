"""What a token view draws over its text: outlines and seams, never a character."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import (
    QFontMetricsF,
    QPainter,
    QPen,
    QTextBlock,
    QTextLayout,
    QTextLine,
)
from PySide6.QtWidgets import QPlainTextEdit

from app.fonts import text_font
from app.theme import Theme


class Geometry:
    """Where stretches of a text edit's document stand in its viewport."""

    def __init__(self, edit: QPlainTextEdit) -> None:
        self._edit = edit

    def rects(self, start: int, end: int) -> list[QRectF]:
        """Return one rectangle per visual line of a stretch; a sliver if empty."""
        return [r for r, _, _ in self._lines(start, max(end, start))]

    def line_at(self, position: int) -> tuple[QPointF, float, float] | None:
        """Return top, height and the right end of the text at ``position``."""
        for rect, line, left in self._lines(position, position):
            return rect.topLeft(), rect.height(), left + line.naturalTextWidth()
        return None

    def line_number(self, position: int) -> int:
        """Return the visual line of ``position``, as a scroll bar counts them."""
        block = self._edit.document().findBlock(position)
        before = self._edit.document().firstBlock()
        while before.isValid() and before.position() <= block.position():
            self._edit.blockBoundingGeometry(before)  # lays it out, else it counts as 1
            before = before.next()
        line = block.layout().lineForTextPosition(position - block.position())
        return block.firstLineNumber() + (line.lineNumber() if line.isValid() else 0)

    def _lines(self, start: int, end: int) -> Iterator[tuple[QRectF, QTextLine, float]]:
        block = self._edit.document().findBlock(start)
        while block.isValid() and block.position() <= end:
            origin = self._origin(block)
            if origin.y() > self._edit.viewport().height():
                return
            yield from _block_lines(block, origin, start, end)
            block = block.next()

    def _origin(self, block: QTextBlock) -> QPointF:
        geometry = self._edit.blockBoundingGeometry(block)
        return geometry.translated(self._edit.contentOffset()).topLeft()


def _block_lines(
    block: QTextBlock, origin: QPointF, start: int, end: int
) -> Iterator[tuple[QRectF, QTextLine, float]]:
    layout = block.layout()
    first, last = start - block.position(), end - block.position()
    for i in range(layout.lineCount()):
        line = layout.lineAt(i)
        low, high = line.textStart(), line.textStart() + line.textLength()
        a, b = max(low, first), min(high, last)
        # A stretch may be empty, but an end that only touches a line is not in it.
        if a > b or (a == b and not _is_caret(first, last, a, high, i, layout)):
            continue
        left, right = _x(line, a), _x(line, b)
        rect = QRectF(left, line.y(), max(right - left, 1.0), line.height())
        yield rect.translated(origin), line, origin.x() + line.x()


def _is_caret(
    first: int, last: int, at: int, line_end: int, i: int, layout: QTextLayout
) -> bool:
    """Return whether an empty stretch stands in line ``i`` and not in the next."""
    return first == last and (at < line_end or i + 1 == layout.lineCount())


def _x(line: QTextLine, position: int) -> float:
    found: Any = line.cursorToX(position)  # a pair here, a number in other bindings
    return float(found[0] if isinstance(found, tuple) else found)


def draw_outline(painter: QPainter, rects: list[QRectF], width: float) -> None:
    """Draw round the rectangles of a token or a round, in the accent colour."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(Theme.current().color("accent"), width))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for rect in rects:
        painter.drawRoundedRect(rect.adjusted(-1, 0.5, 1, -0.5), 3, 3)


def draw_seam(
    painter: QPainter, room: float, top: QPointF, height: float, end: float, label: str
) -> None:
    """Draw the mark of a change of settings; its label only where there is room."""
    theme = Theme.current()
    painter.setPen(QPen(theme.color("accent"), 1.5, Qt.PenStyle.DashLine))
    painter.drawLine(top, top + QPointF(0, height))
    font = text_font("small")
    width = QFontMetricsF(font).horizontalAdvance(label) + 8
    left = max(end, top.x()) + 8
    if left + width > room:
        return
    painter.setFont(font)
    painter.setPen(theme.color("link"))
    area = QRectF(left, top.y(), width, height)
    painter.drawText(area, Qt.AlignmentFlag.AlignVCenter, label)
