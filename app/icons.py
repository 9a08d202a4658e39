"""The four signs of a player, drawn in the colour of the text beside them."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPainterPath, QPixmap

SIZE = 64  # drawn large, shown small: sharp at every scale


def player_icon(name: str, ink: QColor, faint: QColor) -> QIcon:
    """Return the icon ``name`` in ``ink``, and in ``faint`` while disabled."""
    icon = QIcon()
    icon.addPixmap(_drawn(name, ink), QIcon.Mode.Normal)
    icon.addPixmap(_drawn(name, faint), QIcon.Mode.Disabled)
    return icon


def _drawn(name: str, color: QColor) -> QPixmap:
    pixmap = QPixmap(SIZE, SIZE)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.scale(SIZE / 16, SIZE / 16)
    painter.fillPath(_SHAPES[name](), color)
    painter.end()
    return pixmap


def _play() -> QPainterPath:
    path = QPainterPath(QPointF(4, 2))
    path.lineTo(14, 8)
    path.lineTo(4, 14)
    path.closeSubpath()
    return path


def _pause() -> QPainterPath:
    path = QPainterPath()
    path.addRect(QRectF(3.5, 2.5, 3.2, 11))
    path.addRect(QRectF(9.3, 2.5, 3.2, 11))
    return path


def _step() -> QPainterPath:
    path = QPainterPath(QPointF(2.5, 2.5))
    path.lineTo(10, 8)
    path.lineTo(2.5, 13.5)
    path.closeSubpath()
    path.addRect(QRectF(11, 2.5, 2.4, 11))
    return path


def _stop() -> QPainterPath:
    path = QPainterPath()
    path.addRect(QRectF(3, 3, 10, 10))
    return path


def _race() -> QPainterPath:
    path = QPainterPath()
    for top in (1.5, 9.0):
        path.moveTo(3, top)
        path.lineTo(13.5, top + 2.75)
        path.lineTo(3, top + 5.5)
        path.closeSubpath()
    return path


_SHAPES: dict[str, Callable[[], QPainterPath]] = {
    "play": _play,
    "pause": _pause,
    "step": _step,
    "stop": _stop,
    "race": _race,
}
