"""What stands in every plot over time: changes of settings, and the chosen round."""

from __future__ import annotations

from typing import cast

import pyqtgraph as pg
from PySide6.QtCore import Qt

from app.fonts import text_font
from app.theme import Theme


class TimeMarks:
    """Dashed lines with a label where settings changed; a band for a chosen round."""

    def __init__(self, plot: pg.PlotItem) -> None:
        self._plot = plot
        self._lines: list[pg.InfiniteLine] = []
        self._band = pg.LinearRegionItem(movable=False)
        self._band.setZValue(-10)
        self._band.hide()
        plot.addItem(self._band)

    @property
    def labels(self) -> list[str]:
        """What the marks say, in order."""
        return [line.label.format for line in self._lines]

    def add(self, position: float, label: str) -> None:
        """Mark a change of settings."""
        line = pg.InfiniteLine(position, angle=90, label=label)
        # The newest mark stands highest; older ones step down, so labels stay apart.
        line.label.setPosition(0.9 - 0.14 * (len(self._lines) % 4))
        line.label.setFont(text_font("small"))
        self._lines.append(line)
        self._plot.addItem(line)
        self._dress(line, Theme.current())

    def clear(self) -> None:
        """Take all marks away."""
        for line in self._lines:
            self._plot.removeItem(line)
        self._lines.clear()
        self._band.hide()

    def show_band(self, start: float, end: float) -> None:
        """Light up a stretch of the horizontal axis."""
        self._band.setRegion((start, end))
        self._band.show()

    def hide_band(self) -> None:
        """Light nothing."""
        self._band.hide()

    @property
    def band(self) -> tuple[float, float] | None:
        """The stretch that is lit."""
        start, end = cast(tuple[float, float], self._band.getRegion())
        return (start, end) if self._band.isVisible() else None

    def restyle(self, theme: Theme) -> None:
        """Take the theme's colours."""
        fill = theme.color("accent")
        fill.setAlpha(70)
        self._band.setBrush(fill)
        for edge in self._band.lines:
            edge.setPen(theme.color("accent"))
        for line in self._lines:
            self._dress(line, theme)

    def _dress(self, line: pg.InfiniteLine, theme: Theme) -> None:
        line.setPen(pg.mkPen(theme.color("accent"), style=Qt.PenStyle.DashLine))
        line.label.setColor(theme.color("link"))
        ground = theme.color("surface")
        ground.setAlpha(215)
        line.label.fill = pg.mkBrush(ground)
        line.label.update()
