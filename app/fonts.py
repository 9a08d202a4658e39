"""One scale of type sizes and the font of token text.

Everything is a step of the scale on top of the application's own font, so a larger
system font or the Present page enlarges all of it together.
"""

from __future__ import annotations

from PySide6.QtGui import QFont, QFontDatabase, QFontMetricsF
from PySide6.QtWidgets import QApplication

SCALE = {"small": 0.9, "body": 1.0, "title": 1.12, "figure": 2.1}
# How many times larger type is on the Present page.
STAGE = {
    "line": 1.4,
    "token": 1.55,
    "name": 1.9,
    "rate": 2.8,
    "words": 2.2,
    "count": 11,
}


def point_size(step: str) -> float:
    """Return the size in points of one step of the scale."""
    size = QApplication.font().pointSizeF()
    return round((size if size > 0 else 10.0) * SCALE[step], 2)


def text_font(step: str = "body", *, bold: bool = False) -> QFont:
    """Return the interface font at one step of the scale."""
    font = QFont(QApplication.font())
    font.setPointSizeF(point_size(step))
    font.setWeight(QFont.Weight.DemiBold if bold else QFont.Weight.Normal)
    return font


def enlarged(font: QFont, factor: float) -> QFont:
    """Return ``font``, so many times larger."""
    larger = QFont(font)
    larger.setPointSizeF(round(font.pointSizeF() * factor, 2))
    return larger


def token_font(step: str = "body", *, bold: bool = False) -> QFont:
    """Return a monospace font that exists on this machine."""
    font = _fixed_font()
    font.setPointSizeF(point_size(step))
    font.setWeight(QFont.Weight.DemiBold if bold else QFont.Weight.Normal)
    return font


def _fixed_font() -> QFont:
    # The system's answer is only a wish ("monospace"); measure what it resolves to.
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    font.setStyleHint(QFont.StyleHint.Monospace)
    if not _is_fixed(font):
        families = [
            f for f in QFontDatabase.families() if QFontDatabase.isFixedPitch(f)
        ]
        font.setFamilies(families[:1] or [font.family()])
    return font


def _is_fixed(font: QFont) -> bool:
    metrics = QFontMetricsF(font)
    return abs(metrics.horizontalAdvance("i") - metrics.horizontalAdvance("W")) < 0.01
