"""Where a round's time went: a bar of four parts and their names below."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Slot
from PySide6.QtGui import QFontMetricsF, QPainter, QPainterPath, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.fonts import text_font
from app.theme import Theme, notifier
from app.views.announce import announce
from app.views.labels import milliseconds
from core.events import RoundFinished

PARTS = ("draft", "verify", "rule", "other")
ROLES = {"draft": "draft", "verify": "target", "rule": "rule", "other": "other"}
BAR = 12
SWATCH = 9
GAP = 14


def parts_of(event: RoundFinished) -> list[tuple[str, float, str]]:
    """Return name, milliseconds and label of each part of a round, in order."""
    times = (event.draft_ms, event.verify_ms, event.rule_ms, event.other_ms)
    labels = [f"{n} {milliseconds(t)}" for n, t in zip(PARTS, times, strict=True)]
    if event.lookahead > 1:
        each = milliseconds(event.draft_ms / event.lookahead)
        labels[0] += f" ({event.lookahead} × {each})"
    return list(zip(PARTS, times, labels, strict=True))


class TimeBar(QWidget):
    """The labels stand in a row of their own, so they neither overlap nor clip.

    Signals:
        none.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._parts: list[tuple[str, float, str]] = []
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Time of the round")
        notifier().changed.connect(self._on_theme_changed)

    def show_round(self, event: RoundFinished | None) -> None:
        """Show a round's parts, or nothing."""
        self._parts = parts_of(event) if event else []
        announce(self, ", ".join(label for _, _, label in self._parts))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(300, round(BAR + 5 + QFontMetricsF(text_font("small")).height()))

    def minimumSizeHint(self) -> QSize:
        return QSize(120, self.sizeHint().height())

    @Slot(object)
    def _on_theme_changed(self, _: Theme) -> None:
        self.updateGeometry()
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self._parts:
            self._paint_bar(painter)
            self._paint_labels(painter)

    def _paint_bar(self, painter: QPainter) -> None:
        whole = sum(time for _, time, _ in self._parts) or 1.0
        outline = QPainterPath()
        outline.addRoundedRect(QRectF(0, 0, self.width(), BAR), 4, 4)
        painter.setClipPath(outline)
        left = 0.0
        for name, time, _ in self._parts:
            width = self.width() * time / whole
            # A gap of a pixel parts the pieces for those who see no hue.
            area = QRectF(left, 0, max(width - 1, 0.5), BAR)
            painter.fillRect(area, Theme.current().color(ROLES[name], "line"))
            left += width
        painter.setClipping(False)

    def _paint_labels(self, painter: QPainter) -> None:
        painter.setFont(text_font("small"))
        left, metrics = 0.0, QFontMetricsF(painter.font())
        for (name, _, _), text in zip(self._parts, self._labels(metrics), strict=True):
            self._paint_swatch(painter, name, left, metrics.height())
            area = QRectF(left + SWATCH + 4, BAR + 4, self.width(), metrics.height())
            painter.setPen(Theme.current().color("muted"))
            painter.drawText(area, Qt.AlignmentFlag.AlignVCenter, text)
            left += SWATCH + 4 + metrics.horizontalAdvance(text) + GAP

    def _labels(self, metrics: QFontMetricsF) -> list[str]:
        """Return the longest wording of which all labels fit side by side."""
        long = [label for _, _, label in self._parts]
        brief = [f"{name} {milliseconds(time)}" for name, time, _ in self._parts]
        for wording in (long, brief, [b.removesuffix(" ms") for b in brief]):
            widths = (metrics.horizontalAdvance(t) + SWATCH + 4 + GAP for t in wording)
            if sum(widths) - GAP <= self.width():
                return wording
        return [name for name, _, _ in self._parts]

    def _paint_swatch(
        self, painter: QPainter, name: str, left: float, height: float
    ) -> None:
        corner = QPointF(left, BAR + 4 + (height - SWATCH) / 2)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(Theme.current().brush(ROLES[name]))
        painter.drawRoundedRect(QRectF(corner.x(), corner.y(), SWATCH, SWATCH), 2, 2)
