"""A curve that can be told from its neighbours without colour."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt

from app.series import Array, thin
from app.theme import Theme

NUM_MARKERS = 7
APART = 1 / 12  # of the axis: closer, the markers of a short series would be a bar
_DASHES = {
    "solid": Qt.PenStyle.SolidLine,
    "dash": Qt.PenStyle.DashLine,
    "dot": Qt.PenStyle.DotLine,
}
_SAMPLES = {"solid": "━", "dash": "╌", "dot": "┈"}
_SHAPES = {"o": "●", "s": "■", "t": "▼", "d": "◆"}


@dataclass(frozen=True, slots=True)
class Look:
    """How a curve is drawn: colour role, dash, the shape of a few markers, steps."""

    name: str
    short: str
    role: str
    dash: str
    shape: str
    stepped: bool = False

    def sample(self, theme: Theme, *, with_line: bool = True) -> str:
        """Return the curve's entry in a key, as rich text."""
        color = theme.color(self.role, "line").name()
        line = _SAMPLES[self.dash] if with_line else ""
        line += _SHAPES[self.shape]
        return f'<span style="color:{color}">{line}</span>&thinsp;{self.short}'


class LaneCurve:
    """One line of width 1 and a few markers along it."""

    def __init__(self, plot: pg.PlotItem, look: Look) -> None:
        self._look, self._box = look, plot.getViewBox()
        self._line = pg.PlotCurveItem(antialias=True)
        self._markers = pg.ScatterPlotItem(size=6)
        plot.addItem(self._line)
        plot.addItem(self._markers)

    def set_data(self, x: Array, y: Array) -> None:
        """Show a series, thinned to what a screen can show."""
        x, y = thin(x, y)
        self._line.setData(*(_stairs(x, y) if self._look.stepped else (x, y)))
        places = np.linspace(0, max(0, len(x) - 1), self._num_markers(x)).astype(int)
        self._markers.setData(x[places], y[places])

    def _num_markers(self, x: Array) -> int:
        """Return how many markers the series has room for on the axis."""
        left, right = self._box.viewRange()[0]
        room = int((x[-1] - x[0]) / (right - left) / APART) if len(x) else -1
        return min(NUM_MARKERS, len(x), room + 1)

    def restyle(self, theme: Theme) -> None:
        """Take the theme's colours."""
        pen = theme.pen(self._look.role, _DASHES[self._look.dash])
        self._line.setPen(pen)
        self._markers.setPen(theme.pen(self._look.role))
        self._markers.setBrush(theme.brush(self._look.role))
        self._markers.setSymbol(self._look.shape)


def _stairs(x: Array, y: Array) -> tuple[Array, Array]:
    """Return a line that has each value from the point before to its own."""
    return np.repeat(x, 2)[:-1], np.repeat(y, 2)[1:]


SPECULATIVE = Look("speculative", "spec.", "accepted", "solid", "o")
PLAIN = Look("plain", "plain", "plain", "dash", "s")
