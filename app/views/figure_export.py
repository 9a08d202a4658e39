"""The three panels of Figure 1 as one picture: PNG or SVG, by its ending."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgGenerator

from app.fonts import text_font
from app.theme import Theme
from app.views.plot_card import PlotCard
from app.views.plot_export import ENDINGS, posed

PANEL = QSize(480, 400)
HEAD, SHARP = 34, 2  # pixels above the panels; pixels of a PNG for each of the page


def export_figure(cards: Sequence[PlotCard], heading: str, path: Path) -> None:
    """Write all panels side by side under a heading.

    Raises:
        ValueError: if the ending is another one.
        OSError: if the file cannot be written.
    """
    size = QSize(PANEL.width() * len(cards), PANEL.height() + HEAD)

    def paint(painter: QPainter) -> None:
        _paint(painter, cards, heading, size)

    match path.suffix.lower():
        case ".png":
            _png(paint, size, cards[0].plot.logicalDpiX(), path)
        case ".svg":
            _svg(paint, size, cards[0].plot.logicalDpiX(), path)
        case other:
            raise ValueError(f"Cannot write {other!r}; choose {', '.join(ENDINGS)}.")


def _paint(
    painter: QPainter, cards: Sequence[PlotCard], heading: str, size: QSize
) -> None:
    theme = Theme.current()
    painter.fillRect(QRect(0, 0, size.width(), size.height()), theme.color("surface"))
    painter.setPen(theme.color("text"))
    painter.setFont(text_font("title", bold=True))
    room = QRect(14, 0, size.width() - 28, HEAD)
    painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, heading)
    for place, card in enumerate(cards):
        at = QRectF(place * PANEL.width(), HEAD, PANEL.width(), PANEL.height())
        card.draw()
        title = f"{card.source.title} &nbsp; {card.source.key(theme)}"
        with posed(card.plot, title, PANEL):
            card.plot.render(painter, at)


def _png(paint: Callable[[QPainter], None], size: QSize, dots: int, path: Path) -> None:
    image = QImage(size * SHARP, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(SHARP)
    # Axes are cached pictures; at another resolution they would stand beside the data.
    image.setDotsPerMeterX(round(dots / 0.0254))
    image.setDotsPerMeterY(round(dots / 0.0254))
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    paint(painter)
    painter.end()
    if not image.save(str(path)):
        raise OSError(f"{path.name} could not be written.")


def _svg(paint: Callable[[QPainter], None], size: QSize, dots: int, path: Path) -> None:
    generator = QSvgGenerator()
    generator.setFileName(str(path))
    generator.setSize(size)
    generator.setResolution(dots)
    generator.setViewBox(QRectF(0, 0, size.width(), size.height()))
    generator.setTitle("Figure 1")
    painter = QPainter()
    if not painter.begin(generator):
        raise OSError(f"{path.name} could not be written.")
    paint(painter)
    painter.end()
