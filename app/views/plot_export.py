"""A plot as a file: PNG, SVG or CSV, by the file's ending."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import pyqtgraph as pg
from pyqtgraph.exporters import ImageExporter
from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgGenerator

from app.theme import Theme
from app.views.plot_source import Table

ENDINGS = (".png", ".svg", ".csv")
POSE = QSize(800, 440)  # a figure for a page, whatever the card's size on screen
PNG_WIDTH = 1600


def export_plot(
    plot: pg.PlotWidget, table: Table, title: str, key: str, path: str | Path
) -> None:
    """Write a plot; pictures carry its title and the key of its curves.

    Raises:
        ValueError: if the ending is none of ENDINGS.
        OSError: if the file cannot be written.
    """
    path = Path(path)
    match path.suffix.lower():
        case ".png":
            with posed(plot, f"{title} &nbsp; {key}"):
                _png(plot, path)
        case ".svg":
            with posed(plot, f"{title} &nbsp; {key}"):
                _svg(plot, title, path)
        case ".csv":
            write_csv([(title, table)], path)
        case other:
            raise ValueError(f"Cannot write {other!r}; choose {', '.join(ENDINGS)}.")


def write_csv(tables: list[tuple[str, Table]], path: Path) -> None:
    """Write tables, each row led by the title of its plot where there are several."""
    many = len(tables) > 1
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        for title, (headings, rows) in tables:
            lead = [title] if many else []
            writer.writerow(["plot", *headings] if many else headings)
            writer.writerows(
                [*lead, *("" if v is None else v for v in r)] for r in rows
            )


@contextmanager
def posed(plot: pg.PlotWidget, heading: str, pose: QSize = POSE) -> Iterator[None]:
    """Give the plot a heading and a figure's size, and take both back."""
    size, item = plot.size(), cast(pg.PlotItem, plot.getPlotItem())
    item.setTitle(heading, color=Theme.current().color("text"))
    plot.resize(pose)
    try:
        yield
    finally:
        item.setTitle(None)
        plot.resize(size)


def _png(plot: pg.PlotWidget, path: Path) -> None:
    exporter = ImageExporter(plot.getPlotItem())
    exporter.parameters()["width"] = PNG_WIDTH
    image = cast(QImage, exporter.export(toBytes=True))
    if not image.save(str(path)):
        raise OSError(f"{path.name} could not be written.")


def _svg(plot: pg.PlotWidget, title: str, path: Path) -> None:
    # pyqtgraph's SVGExporter fails on PySide6 6.11 (pyqtgraph #3485).
    path.touch()  # an OSError that can be caught, where Qt would print a warning
    size = QSize(plot.width(), plot.height())
    generator = QSvgGenerator()
    generator.setFileName(str(path))
    generator.setSize(size)
    # Axes are cached pictures; at another resolution they would stand beside the data.
    generator.setResolution(plot.logicalDpiX())
    generator.setViewBox(QRectF(0, 0, size.width(), size.height()))
    generator.setTitle(title)
    painter = QPainter()
    if not painter.begin(generator):
        raise OSError(f"{path.name} could not be written.")
    plot.render(painter)
    painter.end()
