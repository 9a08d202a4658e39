"""Bars with their numbers above, and whole numbers below."""

from __future__ import annotations

from typing import Any

import pyqtgraph as pg

from app.fonts import text_font
from app.theme import Theme

WIDTH = 0.72


class NumberedBars:
    """One bar per whole number from 1; some of them may be lit."""

    def __init__(self, plot: pg.PlotItem, role: str) -> None:
        self._plot = plot
        self._role = role
        self._bars = pg.BarGraphItem(x=[], height=[], width=WIDTH)
        self._texts: list[pg.TextItem] = []
        self._lit: frozenset[int] = frozenset()
        self._xs: list[int] = []
        self._ticks: list[int] = []
        plot.addItem(self._bars)

    def set_heights(
        self, heights: list[float], texts: list[str], above: list[float] | None = None
    ) -> None:
        """Show bars at 1, 2, ... with a text on each, or ``above`` what is higher."""
        xs = self._xs = list(range(1, len(heights) + 1))
        self._bars.setOpts(x=xs, height=heights, width=WIDTH, **self._colors(xs))
        while len(self._texts) < len(texts):
            self._texts.append(self._new_text())
        step = _step(len(texts))  # numbers on neighbours would run together
        for i, item in enumerate(self._texts):
            item.setVisible(i < len(texts) and i % step == 0)
            if i < len(texts):
                if item.toPlainText() != texts[i]:
                    item.setText(texts[i])
                item.setPos(xs[i], (above or heights)[i])
        self._label_axis(xs)

    def light(self, bars: set[int]) -> None:
        """Light some bars up."""
        self._lit = frozenset(bars)
        self._bars.setOpts(**self._colors(self._xs))

    @property
    def lit(self) -> frozenset[int]:
        """The bars that are lit."""
        return self._lit

    @property
    def texts(self) -> list[str]:
        """The numbers that stand on the bars."""
        return [t.toPlainText() for t in self._texts if t.isVisible()]

    def restyle(self, theme: Theme) -> None:
        """Take the theme's colours."""
        self._bars.setOpts(**self._colors(self._xs))
        for item in self._texts:
            self._dress(item, theme)

    def _colors(self, xs: list[int]) -> dict[str, Any]:
        if not xs:  # pyqtgraph cannot take empty lists of pens
            return {"pens": None, "brushes": None}
        theme = Theme.current()
        plain, lit = theme.pen(self._role), theme.pen("other")
        lit.setColor(theme.color("text"))
        lit.setWidth(2)  # two points of a rectangle: not the costly noisy line
        fill = theme.color(self._role, "line")
        fill.setAlpha(200)
        pens = [lit if x in self._lit else plain for x in xs]
        return {"pens": pens, "brushes": [fill] * len(xs)}

    def _new_text(self) -> pg.TextItem:
        item = pg.TextItem(anchor=(0.5, 1.0))
        self._dress(item, Theme.current())
        self._plot.addItem(item, ignoreBounds=True)
        return item

    def _dress(self, item: pg.TextItem, theme: Theme) -> None:
        item.setColor(theme.color("text"))
        item.setFont(text_font("small"))

    def _label_axis(self, xs: list[int]) -> None:
        if xs == self._ticks:
            return
        self._ticks = xs
        ticks = [(x, str(x)) for x in xs[:: _step(len(xs))]]
        self._plot.getAxis("bottom").setTicks([ticks])


def _step(bars: int) -> int:
    """Return 1 where every bar has room for a number, else 2."""
    return 1 if bars <= 9 else 2
