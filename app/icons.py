"""Shipped icons, in the colour of the text beside them."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

import resources

SIZE = 64  # drawn large, shown small: sharp at every scale


def program_icon() -> QIcon:
    """Return the program's own icon, in its own colours."""
    return QIcon(str(resources.path("icons/dark/draftrace.svg")))


def player_icon(name: str, ink: QColor, faint: QColor) -> QIcon:
    """Return the icon ``name`` in ``ink``, and in ``faint`` while disabled."""
    icon = QIcon()
    icon.addPixmap(_tinted(name, ink), QIcon.Mode.Normal)
    icon.addPixmap(_tinted(name, faint), QIcon.Mode.Disabled)
    return icon


def _tinted(name: str, color: QColor) -> QPixmap:
    """Draw the shape in ``color``: the button decides it, not the theme."""
    pixmap = QPixmap(SIZE, SIZE)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    QSvgRenderer(str(resources.path(f"icons/dark/{name}.svg"))).render(painter)
    painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_SourceIn)
    painter.fillRect(pixmap.rect(), color)
    painter.end()
    return pixmap
