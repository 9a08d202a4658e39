"""A round drawn large for the tour: proposals side by side, and how each was judged."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, Slot
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.fonts import text_font, token_font
from app.theme import Theme, notifier
from app.tour_steps import Stage
from app.views.labels import DASH, number, visible
from app.views.sentences import label
from core.events import Place, RoundFinished, TokenOutcome, Verdict

GAP, PAD = 12, 8
BAR = 8
LABELS = {
    Verdict.ACCEPTED: "accepted",
    Verdict.REFUSED: "rejected",
    Verdict.DISCARDED: "discarded",
}
WORDS = {
    Verdict.ACCEPTED: "✓ kept",
    Verdict.REFUSED: "✗ refused",
    Verdict.DISCARDED: "not judged",
}


class RoundStrip(QWidget):
    """Paints as much of a round as a stage of the tour explains.

    Signals:
        none.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._event: RoundFinished | None = None
        self._stage = Stage.DRAFT
        self.setAccessibleName("The round")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        notifier().changed.connect(self._on_theme_changed)

    def show_round(self, event: RoundFinished, stage: Stage) -> None:
        """Show a round up to a stage."""
        self._event, self._stage = event, stage
        self.setAccessibleDescription(spoken(event, stage))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(680, round(self._line() * 7.6 + 2 * (BAR + PAD) + 4))

    def minimumSizeHint(self) -> QSize:
        return QSize(420, self.sizeHint().height())

    def _line(self) -> float:
        return QFontMetricsF(text_font()).height()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._event is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        count = len(self._event.places) + 1
        width = (self.width() - GAP * (count - 1)) / count
        for i, place in enumerate(self._event.places):
            box = QRectF(i * (width + GAP), 0, width, self.height())
            self._paint_place(painter, place, box)
        last = QRectF((count - 1) * (width + GAP), 0, width, self.height())
        if self._stage >= Stage.RESAMPLE:
            self._paint_drawn(painter, self._event.tokens[-1], last)

    def _paint_place(self, painter: QPainter, place: Place, box: QRectF) -> None:
        judged = self._stage >= Stage.ACCEPT
        role = LABELS[place.verdict] if judged else "draft"
        struck = judged and place.verdict is not Verdict.ACCEPTED
        self._paint_token(painter, place.text, role, box, struck=struck)
        top = box.top() + 2.6 * self._line()
        self._paint_share(painter, "draft", place.draft_probability, box, top)
        if self._stage >= Stage.VERIFY:
            top += self._line() + BAR + PAD
            self._paint_share(painter, "target", place.target_probability, box, top)
        if judged:
            top += self._line() + BAR + PAD
            self._paint_verdict(painter, place, box, top)

    def _paint_drawn(self, painter: QPainter, token: TokenOutcome, box: QRectF) -> None:
        assert self._event is not None
        role = str(token.origin)
        self._paint_token(painter, label(token, self._event), role, box)
        painter.setFont(text_font("small"))
        painter.setPen(Theme.current().color(role))
        where = QRectF(box.left(), 2.6 * self._line(), box.width(), self._line())
        painter.drawText(where, _CENTRE, role)

    def _paint_token(
        self,
        painter: QPainter,
        text: str,
        role: str,
        box: QRectF,
        *,
        struck: bool = False,
    ) -> None:
        theme = Theme.current()
        room = QRectF(box.left(), 1, box.width(), 2 * self._line())
        painter.setPen(theme.color(role))
        painter.setBrush(theme.brush(role, "fill"))
        painter.drawRoundedRect(room.adjusted(0.5, 0.5, -0.5, -0.5), 6, 6)
        font = QFont(token_font("title", bold=True))
        font.setStrikeOut(struck)
        painter.setFont(font)
        painter.setPen(theme.color("muted" if struck else "text"))
        painter.drawText(room, _CENTRE, _fitting(visible(text.strip(" ")), font, room))

    def _paint_share(
        self, painter: QPainter, kind: str, share: float | None, box: QRectF, top: float
    ) -> None:
        theme = Theme.current()
        words = QRectF(box.left(), top, box.width(), self._line())
        painter.setFont(text_font("small"))
        painter.setPen(theme.color("muted"))
        painter.drawText(words, _LEFT, kind)
        painter.setPen(theme.color(kind))
        painter.drawText(words, _RIGHT, number(share))
        groove = QRectF(box.left(), words.bottom() + 1, box.width(), BAR)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.color("track"))
        painter.drawRoundedRect(groove, 3, 3)
        if share:
            groove.setWidth(max(3.0, box.width() * min(1.0, share)))
            painter.setBrush(theme.brush(kind))
            painter.drawRoundedRect(groove, 3, 3)

    def _paint_verdict(
        self, painter: QPainter, place: Place, box: QRectF, top: float
    ) -> None:
        theme, line = Theme.current(), self._line()
        words = QRectF(box.left(), top, box.width(), line)
        painter.setFont(text_font("small"))
        painter.setPen(theme.color("muted"))
        if place.uniform is not None:
            painter.drawText(words, _LEFT, "chance")
            painter.drawText(words, _RIGHT, number(place.acceptance_probability))
            words.translate(0, line)
            painter.drawText(words, _LEFT, "u")
            painter.drawText(words, _RIGHT, number(place.uniform))
        else:
            painter.drawText(words, _LEFT, "u")
            painter.drawText(words, _RIGHT, DASH)
            words.translate(0, line)
        words.translate(0, line)
        painter.setFont(text_font("small", bold=True))
        painter.setPen(theme.color(LABELS[place.verdict]))
        painter.drawText(words, _LEFT, WORDS[place.verdict])

    @Slot(object)
    def _on_theme_changed(self, _: Theme) -> None:
        self.updateGeometry()
        self.update()


def spoken(event: RoundFinished, stage: Stage) -> str:
    """Return the picture in words, for a screen reader."""
    parts = []
    for place in event.places:
        said = f"{visible(place.text)}: draft {number(place.draft_probability)}"
        if stage >= Stage.VERIFY:
            said += f", target {number(place.target_probability)}"
        if stage >= Stage.ACCEPT:
            said += f", u {number(place.uniform)}, {place.verdict}"
        parts.append(said)
    if stage >= Stage.RESAMPLE:
        last = event.tokens[-1]
        parts.append(f"{visible(label(last, event))}: {last.origin}")
    return "; ".join(parts)


def _fitting(text: str, font: QFont, room: QRectF) -> str:
    dots, width = Qt.TextElideMode.ElideRight, room.width() - 2 * PAD
    return QFontMetricsF(font).elidedText(text, dots, width)


_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_CENTRE = Qt.AlignmentFlag.AlignCenter
