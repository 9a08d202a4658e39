"""A plot as a file: PNG, SVG or CSV, by the file's ending."""

from __future__ import annotations

import csv
from pathlib import Path

import pyqtgraph as pg
from pyqtgraph.exporters import ImageExporter
from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QPainter
from PySide6.QtSvg import QSvgGenerator

from app.views.plot_source import Table

ENDINGS = (".png", ".svg", ".csv")
PNG_WIDTH = 1600


def export_plot(
    plot: pg.PlotWidget, table: Table, title: str, path: str | Path
) -> None:
    """Write a plot.

    Raises:
        ValueError: if the ending is none of ENDINGS.
        OSError: if the file cannot be written.
    """
    path = Path(path)
    match path.suffix.lower():
        case ".png":
            _png(plot, path)
        case ".svg":
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


def _png(plot: pg.PlotWidget, path: Path) -> None:
    exporter = ImageExporter(plot.getPlotItem())
    exporter.parameters()["width"] = PNG_WIDTH
    image = exporter.export(toBytes=True)
    if not image.save(str(path)):
        raise OSError(f"{path.name} could not be written.")


def _svg(plot: pg.PlotWidget, title: str, path: Path) -> None:
    # pyqtgraph's SVGExporter fails on PySide6 6.11 (pyqtgraph #3485).
    size = QSize(plot.width(), plot.height())
    generator = QSvgGenerator()
    generator.setFileName(str(path))
    generator.setSize(size)
    generator.setViewBox(QRectF(0, 0, size.width(), size.height()))
    generator.setTitle(title)
    painter = QPainter()
    if not painter.begin(generator):
        raise OSError(f"{path.name} could not be written.")
    plot.render(painter)
    painter.end()
