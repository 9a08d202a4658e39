"""One panel of Figure 1: measured, predicted, and what the paper has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetrics

from app.fonts import text_font
from app.series import SteadyRange
from app.theme import Theme
from app.views import figure_words as words
from app.views.labels import DASH
from app.views.plot_source import Table
from core.events import Event, Lane
from core.lab import paper_figure
from core.lab.figure_one import FigureCurve
from core.lab.paper_figure import LOOKAHEADS, PaperCurve

Values = Sequence[float | None]
ROLES = {"code": ("accepted", "o", "●"), "summary": ("draft", "s", "■")}
WIDTH = 1.6  # thicker than a live plot may afford; here are eight points
ASIDE = {"code": -0.07, "summary": 0.07}  # so that bars of the same K do not touch


@dataclass(frozen=True, slots=True)
class FigurePart:
    """What one of the three panels shows."""

    title: str
    unit: str
    measured: Callable[[FigureCurve], Values]
    closed: Callable[[FigureCurve], Values]
    paper: Callable[[PaperCurve], Values]
    printed: Callable[[PaperCurve], tuple[tuple[int, float], ...]]
    spread: bool = False
    top: float | None = None


PARTS = (
    FigurePart(
        "128 tokens",
        "ms",
        lambda curve: curve.ms_128,
        lambda curve: curve.closed_ms_128,
        lambda curve: curve.ms_128(),
        lambda curve: curve.printed_ms_128,
        spread=True,
    ),
    FigurePart(
        "Acceptance",
        "emitted / (K + 1)",
        lambda curve: curve.share,
        lambda curve: curve.closed_share,
        lambda curve: curve.share(),
        lambda curve: curve.printed_share,
        top=1.09,
    ),
    FigurePart(
        "A round",
        "ms",
        lambda curve: curve.round_ms,
        lambda curve: curve.closed_round_ms,
        lambda curve: [paper_figure.round_ms(k) for k in LOOKAHEADS],
        lambda curve: ((0, paper_figure.TARGET_MS), (7, paper_figure.ROUND_MS_AT_7)),
    ),
)


class FigurePlot:
    """A PlotSource over K = 0 to 7. Figures are set at once; it hears no events."""

    across, empty = "K", words.EMPTY

    def __init__(self, part: FigurePart) -> None:
        self.part, self.title, self.unit = part, part.title, part.unit
        self.curves: tuple[FigureCurve, ...] = ()
        self.paper = False

    def show(self, curves: tuple[FigureCurve, ...], paper: bool) -> None:
        """Set what the next drawing shows."""
        self.curves = tuple(c for c in curves if c.prompt_kind in ROLES)
        self.paper = paper

    def attach(self, plot: pg.PlotItem) -> None:
        """Create the items once."""
        self._plot, self._top = plot, SteadyRange(1.0)
        self._kinds = {kind: _KindItems(plot, kind) for kind in ROLES}
        plot.getAxis("bottom").setTicks([[(k, str(k)) for k in LOOKAHEADS]])
        plot.getViewBox().setXRange(-0.5, LOOKAHEADS[-1] + 0.5, padding=0)

    def on_event(self, event: Event) -> bool:
        """Change nothing: a sweep is no run."""
        return False

    def clear(self) -> None:
        """Forget the figure."""
        self.show((), self.paper)

    def draw(self) -> None:
        """Put the numbers into the items."""
        curves = {curve.prompt_kind: curve for curve in self.curves}
        papers = {p.prompt_kind: p for p in paper_figure.CURVES if self.paper}
        for kind, items in self._kinds.items():
            items.draw(self.part, curves.get(kind), papers.get(kind))
        highest = max((items.highest for items in self._kinds.values()), default=0.0)
        top = self.part.top or self._top.fit(highest)
        self._plot.getViewBox().setYRange(0, top, padding=0)

    def restyle(self, theme: Theme) -> None:
        """Take the theme's colours, and room for the numbers at this size of type."""
        small = QFontMetrics(text_font("small"))
        room = small.horizontalAdvance("00000") + small.height() + 8
        self._plot.getAxis("left").setWidth(room)
        for items in self._kinds.values():
            items.restyle(theme)

    def mark_round(self, lane: Lane | None, round_index: int) -> None:
        """Light nothing: a point is of many rounds."""

    def round_at(self, x: float) -> tuple[Lane, int] | None:
        """Return no round: a point is of many."""
        return None

    def is_empty(self) -> bool:
        """Return whether there is nothing to show."""
        measured = any(v is not None for c in self.curves for v in self._of(c))
        return not measured and not self.paper

    def _of(self, curve: FigureCurve) -> Values:
        return self.part.measured(curve)

    def key(self, theme: Theme) -> str:
        """Return the key of the curves as rich text."""
        shown = [c.prompt_kind for c in self.curves]
        parts = [
            f'<span style="color:{theme.color(role, "line").name()}">{sign}</span>'
            f"&thinsp;{kind}"
            for kind, (role, _, sign) in ROLES.items()
            if kind in shown
        ]
        return " ".join(parts)

    def note(self) -> str:
        """Return which lines were not measured here."""
        closed = any(map(self.part.closed, self.curves))
        return " · ".join([*["╌ PREDICTED"] * closed, *["–·– paper"] * self.paper])

    def table(self) -> Table:
        """Return each K with what was measured and what the closed form says."""
        rows: list[tuple[object, ...]] = []
        for curve in self.curves:
            closed = self.part.closed(curve) or (None,) * len(curve.lookaheads)
            columns = curve.lookaheads, self._of(curve), closed
            rows += [(curve.prompt_kind, *row) for row in zip(*columns, strict=True)]
        if self.paper:
            for paper in paper_figure.CURVES:
                printed, line = dict(self.part.printed(paper)), self.part.paper(paper)
                rows += [
                    (f"paper: {paper.name}", k, printed.get(k), line[k])
                    for k in LOOKAHEADS
                ]
        return ("prompts", "K", self.unit, "closed form, PREDICTED"), rows

    def summary(self) -> str:
        """Return the measured numbers in words."""
        parts = [
            f"{c.prompt_kind}: "
            + ", ".join(
                f"K = {k}: {_said(v)}"
                for k, v in zip(c.lookaheads, self._of(c), strict=True)
            )
            for c in self.curves
        ]
        return f"{self.unit} by K. " + ". ".join(parts) if parts else self.empty


class _KindItems:
    """What is drawn of one prompt kind."""

    def __init__(self, plot: pg.PlotItem, kind: str) -> None:
        self._role, shape, _ = ROLES[kind]
        self._aside, self.highest = ASIDE[kind], 0.0
        self._paper = pg.PlotDataItem(antialias=True)
        self._printed = pg.ScatterPlotItem(size=9, symbol=shape)
        self._closed = pg.PlotDataItem(antialias=True)
        self._bars = pg.ErrorBarItem(beam=0.12)
        self._p90 = pg.ScatterPlotItem(size=7, symbol="t1")
        self._line = pg.PlotDataItem(antialias=True, symbol=shape, symbolSize=7)
        for item in (
            *(self._paper, self._printed, self._closed),
            *(self._bars, self._p90, self._line),
        ):
            plot.addItem(item)

    def draw(
        self, part: FigurePart, curve: FigureCurve | None, paper: PaperCurve | None
    ) -> None:
        """Put the numbers of one panel in; None shows nothing."""
        ks = curve.lookaheads if curve else ()
        shown = [
            _set(self._line, ks, part.measured(curve) if curve else (), self._aside),
            _set(self._closed, ks, part.closed(curve) if curve else (), self._aside),
            _set(self._paper, LOOKAHEADS, part.paper(paper) if paper else ()),
        ]
        points = part.printed(paper) if paper else ()
        self._printed.setData([k for k, _ in points], [v for _, v in points])
        shown += [v for _, v in points], self._draw_spread(part, curve)
        self.highest = max((v for values in shown for v in values), default=0.0)

    def _draw_spread(self, part: FigurePart, curve: FigureCurve | None) -> list[float]:
        if curve is None or not part.spread:
            self._bars.setData(x=None, y=None)
            return _set(self._p90, (), ())
        rows = [
            (k + self._aside, mean, spread or 0.0)
            for k, mean, spread in zip(
                curve.lookaheads, curve.ms_128, curve.spread, strict=True
            )
            if mean is not None
        ]
        x, y, reach = np.array(rows).reshape(-1, 3).T
        self._bars.setData(x=x, y=y, top=reach, bottom=reach)
        p90 = _set(self._p90, curve.lookaheads, curve.p90, self._aside)
        return [*p90, *(y + reach).tolist()]

    def restyle(self, theme: Theme) -> None:
        """Take the theme's colours."""
        pen = theme.pen(self._role, width=WIDTH)
        self._line.setPen(pen)
        self._line.setSymbolPen(pen)
        self._line.setSymbolBrush(theme.brush(self._role))
        self._closed.setPen(theme.pen(self._role, Qt.PenStyle.DashLine, WIDTH))
        self._bars.setData(pen=pen)
        self._p90.setPen(theme.pen(self._role))
        self._p90.setBrush(theme.color("surface"))
        self._paper.setPen(theme.pen("plain", Qt.PenStyle.DashDotLine, WIDTH))
        self._printed.setPen(theme.pen("plain"))
        self._printed.setBrush(theme.color("surface"))


def _said(value: float | None) -> str:
    if value is None:
        return DASH
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def _set(
    item: pg.PlotDataItem | pg.ScatterPlotItem,
    lookaheads: Sequence[int],
    values: Values,
    aside: float = 0.0,
) -> list[float]:
    """Show the known values, and return them."""
    known = [(k, v) for k, v in zip(lookaheads, values, strict=False) if v is not None]
    item.setData([k + aside for k, _ in known], [v for _, v in known])
    return [v for _, v in known]
