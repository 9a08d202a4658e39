"""One number of a training over the tokens that were read."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QTimer, Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QSizePolicy

from app.series import RingBuffer, SteadyRange
from app.theme import Theme
from app.views.lane_curve import LaneCurve, Look
from app.views.plot_card import PlotCard
from app.views.plot_source import Table
from core.events import Lane

MOST_POINTS = 32768
THOUSAND = 1000.0


class TrainingCurve:
    """A PlotSource that is fed by hand: thousand tokens read, value."""

    across = "thousand tokens read"

    def __init__(self, title: str, unit: str, look: Look, empty: str) -> None:
        self.title, self.unit, self.empty = title, unit, empty
        self._look = look
        self._points = RingBuffer(MOST_POINTS, columns=2)
        self._top, self._right = SteadyRange(0.01), SteadyRange(1.0)

    def attach(self, plot: pg.PlotItem) -> None:
        """Create the curve once."""
        self._plot, self._curve = plot, LaneCurve(plot, self._look)

    def add(self, tokens: int, value: float) -> None:
        """Add a point; one further left begins anew."""
        x = tokens / THOUSAND
        if len(self._points) and x < self._points.column(0)[-1]:
            self.clear()
        self._points.append(x, value)

    def on_event(self, event: object) -> bool:
        """Return False: it is fed by :meth:`add`."""
        return False

    def clear(self) -> None:
        """Forget everything."""
        self._points.clear()
        self._top.reset()
        self._right.reset()

    def draw(self) -> None:
        """Put the points so far into the curve."""
        x, y = self._points.column(0), self._points.column(1)
        box = self._plot.getViewBox()
        if len(x):
            right = self._right.fit(float(x[-1]))
            left = float(x[0]) if x[0] > right / 2 else 0.0  # taken up again
            box.setXRange(left, right, padding=0.02)
            box.setYRange(0, self._top.fit(1.1 * float(np.max(y))), padding=0)
        self._curve.set_data(x, y)

    def restyle(self, theme: Theme) -> None:
        """Take the theme's colours."""
        self._curve.restyle(theme)

    def mark_round(self, lane: Lane | None, round_index: int) -> None:
        """Do nothing: a training has no rounds."""

    def round_at(self, x: float) -> tuple[Lane, int] | None:
        """Return no round."""
        return None

    def is_empty(self) -> bool:
        """Return whether there is no point yet."""
        return not len(self._points)

    def key(self, theme: Theme) -> str:
        """Return the newest value."""
        if self.is_empty():
            return ""
        return self._value()

    def note(self) -> str:
        """Return nothing."""
        return ""

    def table(self) -> Table:
        """Return every point."""
        x, y = self._points.column(0).tolist(), self._points.column(1).tolist()
        return (self.across, self.title), list(zip(x, y, strict=True))

    def summary(self) -> str:
        """Return the newest point in words."""
        if self.is_empty():
            return self.empty
        tokens = self._points.column(0)[-1]
        return f"{self._value()} after {tokens:,.0f} thousand tokens"

    def _value(self) -> str:
        value = self._points.column(1)[-1]
        return f"{value:.1f} %" if self.unit == "%" else f"{value:.3f}"


class TrainingCard(PlotCard):
    """The frame of a :class:`TrainingCurve`."""

    def __init__(self, curve: TrainingCurve) -> None:
        super().__init__(curve)
        self.curve = curve
        # pyqtgraph asks for 640 x 480; the dialog says how much room there is.
        ignored = QSizePolicy.Policy.Ignored
        self.plot.setSizePolicy(ignored, ignored)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        QTimer.singleShot(0, self._on_shown)  # it has its size by then

    @Slot()
    def _on_shown(self) -> None:
        self._stale = True
        self.refresh()

    def add(self, tokens: int, value: float | None) -> None:
        """Add a point, if there is one, and draw it if anybody looks."""
        if value is not None:
            self.curve.add(tokens, value)
            self._stale = True
        self.refresh()

    def start_over(self) -> None:
        """Forget all points."""
        self.clear()
        self.refresh()
