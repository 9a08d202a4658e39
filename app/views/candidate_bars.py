"""Bars of draft, target and residual for the best candidates of one place."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, Slot
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.fonts import text_font, token_font
from app.theme import Theme, notifier
from app.views.announce import announce
from app.views.candidates import KINDS, CandidateRow
from app.views.labels import DASH, number, visible

BAR = 4
NUMBER = "<0.00"  # the widest
SWATCH = 8
WIDE = 320  # from here on every bar has its number


class CandidateBars(QWidget):
    """Painted rows: label, three thin bars, and the numbers there is room for.

    The order of the bars is that of the legend, so no colour is needed to read them.

    Signals:
        none.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows: list[CandidateRow] = []
        policy = QSizePolicy.Policy.Expanding
        self.setSizePolicy(policy, policy)
        self.setAccessibleName("Candidates")
        notifier().changed.connect(self._on_theme_changed)

    def show_rows(self, rows: list[CandidateRow]) -> None:
        """Replace the candidates."""
        self._rows = rows
        announce(self, "; ".join(_spoken(row) for row in rows) or "No candidates.")
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(260, self._row_height() * 6)

    def minimumSizeHint(self) -> QSize:
        return QSize(self._key_width(), self._row_height() * 3)

    def _key_width(self) -> int:
        """Return what the names of the bars take, so that none is cut."""
        metrics = QFontMetricsF(text_font("small"))
        names = sum(SWATCH + 4 + metrics.horizontalAdvance(kind) for kind in KINDS)
        return round(names) + 10 * (len(KINDS) - 1) + 2

    @Slot(object)
    def _on_theme_changed(self, _: Theme) -> None:
        self.updateGeometry()
        self.update()

    def _row_height(self) -> int:
        return max(
            3 * (BAR + 1) + 3, round(QFontMetricsF(token_font("small")).height()) + 2
        )

    def _numbers(self) -> tuple[str, ...]:
        """Return whose numbers there is room for; the bars come first."""
        return KINDS if self.width() >= WIDE else ("target",)

    def _number_width(self) -> float:
        return QFontMetricsF(token_font("small")).horizontalAdvance(NUMBER) + 8

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        height = self._row_height()
        self._paint_headings(painter, height)
        for i, row in enumerate(self._rows, start=1):
            if (i + 1) * height > self.height() + 2:
                break
            self._paint_row(painter, row, i * height + 2, height)

    def _paint_headings(self, painter: QPainter, height: int) -> None:
        painter.setFont(text_font("small"))
        metrics, left = QFontMetricsF(painter.font()), 0.0
        for kind in KINDS:
            theme = Theme.current()
            swatch = QRectF(left, (height - SWATCH) / 2, SWATCH, SWATCH)
            painter.fillRect(swatch, theme.color(kind, "line"))
            painter.setPen(theme.color("muted"))
            room = QRectF(left + SWATCH + 4, 0, self.width(), height)
            painter.drawText(room, _LEFT, kind)
            left += SWATCH + 4 + metrics.horizontalAdvance(kind) + 10

    def _paint_row(
        self, painter: QPainter, row: CandidateRow, top: float, height: float
    ) -> None:
        label, numbers = min(self.width() * 0.3, 110.0), self._numbers()
        self._paint_label(painter, row, QRectF(0, top, label, height))
        room = self.width() - label - len(numbers) * self._number_width() - 8
        first = top + (height - 3 * BAR - 2) / 2
        for i, (kind, value) in enumerate(zip(KINDS, row.shares, strict=True)):
            bar = QRectF(label + 6, first + i * (BAR + 1), room * (value or 0.0), BAR)
            if value:
                painter.fillRect(bar, Theme.current().color(kind, "line"))
            if kind in numbers:
                column = len(numbers) - numbers.index(kind)
                left = self.width() - column * self._number_width()
                area = QRectF(left, top, self._number_width(), height)
                self._paint_number(painter, value, kind, area)

    def _paint_label(self, painter: QPainter, row: CandidateRow, room: QRectF) -> None:
        font = QFont(token_font("small", bold=row.drawn))
        font.setStrikeOut(row.proposed and not row.drawn)
        shown = QFontMetricsF(font).elidedText(
            visible(row.text), Qt.TextElideMode.ElideRight, room.width()
        )
        painter.setFont(font)
        struck = row.proposed and not row.drawn
        painter.setPen(Theme.current().color("rejected" if struck else "text"))
        painter.drawText(room, _LEFT, shown)

    def _paint_number(
        self, painter: QPainter, value: float | None, kind: str, room: QRectF
    ) -> None:
        painter.setFont(token_font("small"))
        painter.setPen(Theme.current().color("faint" if value is None else kind))
        painter.drawText(room, _RIGHT, number(value))


_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


def _spoken(row: CandidateRow) -> str:
    shares = zip(KINDS, row.shares, strict=True)
    known = ", ".join(f"{k} {number(v)}" for k, v in shares if v is not None)
    return f"{visible(row.text)}: {known or DASH}"
