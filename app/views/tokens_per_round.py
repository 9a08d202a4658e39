"""How many rounds brought how many tokens, and the law of the measured rate."""

from __future__ import annotations

from collections.abc import Mapping

import pyqtgraph as pg
from PySide6.QtCore import Qt

from app.series import SteadyRange
from app.theme import Theme
from app.views.bar_items import NumberedBars
from app.views.counted_rounds import CountedRounds
from app.views.labels import number
from app.views.plot_source import Table
from core.events import Event, Lane


class TokensPerRound:
    """A PlotSource: bars measured, a dashed line expected."""

    title, unit, across = "Tokens per round", "rounds", "tokens"
    empty = "no speculative round yet"

    def attach(self, plot: pg.PlotItem) -> None:
        """Create the items once."""
        self._plot = plot
        self.rounds = CountedRounds()
        self.bars = NumberedBars(plot, "bonus")
        self._law = pg.PlotDataItem(symbol="d", symbolSize=7, antialias=True)
        self._top = SteadyRange(4.0)
        plot.addItem(self._law)

    def on_event(self, event: Event) -> bool:
        """Take in an event."""
        return self.rounds.on_event(event)

    def show_rounds(self, shown: Mapping[Lane, int]) -> None:
        """Count only so many rounds of each lane."""
        self.rounds.show_rounds(shown)

    def clear(self) -> None:
        """Forget everything."""
        self.rounds.clear()
        self._top.reset()

    def counts(self) -> list[tuple[int, int, float | None]]:
        """Return tokens, rounds that brought as many, rounds the law expects."""
        measured = self.rounds.statistics.tokens_per_round_histogram()
        law = self.rounds.statistics.tokens_per_round_law()
        longest = max([*measured, *law], default=0)
        return [(n, measured.get(n, 0), law.get(n)) for n in range(1, longest + 1)]

    def draw(self) -> None:
        """Put the numbers so far into bars and line."""
        rows = self.counts()
        self.bars.set_heights(
            [float(count) for _, count, _ in rows],
            [str(count) for _, count, _ in rows],
            above=[max(count, value or 0.0) for _, count, value in rows],
        )
        law = [(n, value) for n, _, value in rows if value is not None]
        self._law.setData([n for n, _ in law], [value for _, value in law])
        self._plot.getViewBox().setXRange(0.4, max(5, len(rows)) + 0.6, padding=0)
        highest = max([c for _, c, _ in rows] + [v for _, v in law], default=0.0)
        self._plot.getViewBox().setYRange(0, self._top.fit(1.2 * highest), padding=0)

    def restyle(self, theme: Theme) -> None:
        """Take the theme's colours."""
        self.bars.restyle(theme)
        self._law.setPen(theme.pen("residual", Qt.PenStyle.DashLine))
        self._law.setSymbolBrush(theme.brush("residual"))
        self._law.setSymbolPen(theme.pen("residual"))

    def mark_round(self, lane: Lane | None, round_index: int) -> None:
        """Light the bar that the round is part of."""
        shape = self.rounds.shape(lane, round_index)
        self.bars.light({shape.tokens} if shape else set())

    def round_at(self, x: float) -> tuple[Lane, int] | None:
        """Return no round: a bar is of many."""
        return None

    def is_empty(self) -> bool:
        """Return whether there is no round yet."""
        return not self.rounds.statistics.tokens_per_round_histogram()

    def key(self, theme: Theme) -> str:
        """Return what the line is."""
        color = theme.color("residual", "line").name()
        rate = self.rounds.statistics.acceptance_rate
        if rate is None:
            return ""
        return f'<span style="color:{color}">╌◆</span>&thinsp;law at {number(rate)}'

    def note(self) -> str:
        """Return since when is counted."""
        return self.rounds.since

    def table(self) -> Table:
        """Return tokens, measured rounds, expected rounds."""
        rows: list[tuple[object, ...]] = list(self.counts())
        return ("tokens in the round", "rounds", "rounds by the law"), rows

    def summary(self) -> str:
        """Return the counts in words."""
        parts = [f"{count} rounds of {n}" for n, count, _ in self.counts()]
        return ", ".join(parts) or self.empty
