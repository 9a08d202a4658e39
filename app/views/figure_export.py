"""Several plots as one picture: PNG or SVG, by its ending."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgGenerator

from app.fonts import text_font
from app.theme import Theme
from app.views.plot_card import PlotCard
from app.views.plot_export import ENDINGS, posed

PANEL = QSize(480, 400)
HEAD, SHARP = 34, 2  # pixels above the panels; pixels of a PNG for each of the page


def export_figure(
    cards: Sequence[PlotCard], heading: str, path: Path, columns: int
) -> None:
    """Write all panels in rows of ``columns`` under a heading, if there is one.

    Raises:
        ValueError: if the ending is another one.
        OSError: if the file cannot be written.
    """
    head, rows = HEAD if heading else 0, -(-len(cards) // columns)
    size = QSize(PANEL.width() * columns, PANEL.height() * rows + head)

    def paint(painter: QPainter) -> None:
        theme = Theme.current()
        painter.fillRect(QRect(QPoint(), size), theme.color("surface"))
        painter.setPen(theme.color("text"))
        painter.setFont(text_font("title", bold=True))
        room = QRect(14, 0, size.width() - 28, head)
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, heading)
        for place, card in enumerate(cards):
            row, column = divmod(place, columns)
            at = QPointF(column * PANEL.width(), head + row * PANEL.height())
            _paint(painter, card, QRectF(at, QSizeF(PANEL)))

    match path.suffix.lower():
        case ".png":
            _png(paint, size, cards[0].plot.logicalDpiX(), path)
        case ".svg":
            title = heading or "Plots"
            _svg(paint, size, cards[0].plot.logicalDpiX(), title, path)
        case other:
            raise ValueError(f"Cannot write {other!r}; choose {', '.join(ENDINGS)}.")


def _paint(painter: QPainter, card: PlotCard, at: QRectF) -> None:
    card.draw()
    source, theme = card.source, Theme.current()
    with posed(card.plot, f"{source.title} &nbsp; {source.key(theme)}", PANEL):
        card.plot.render(painter, at)
    if source.is_empty():  # its word is a label over the plot, on screen
        painter.setPen(theme.color("muted"))
        painter.setFont(text_font("small"))
        painter.drawText(at, Qt.AlignmentFlag.AlignCenter, source.empty)


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


def _svg(
    paint: Callable[[QPainter], None], size: QSize, dots: int, title: str, path: Path
) -> None:
    path.touch()  # an OSError that can be caught, where Qt would print a warning
    generator = QSvgGenerator()
    generator.setFileName(str(path))
    generator.setSize(size)
    generator.setResolution(dots)
    generator.setViewBox(QRectF(0, 0, size.width(), size.height()))
    generator.setTitle(title)
    painter = QPainter()
    if not painter.begin(generator):
        raise OSError(f"{path.name} could not be written.")
    paint(painter)
    painter.end()
