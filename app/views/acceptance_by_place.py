"""How often the proposal at each place of a round was accepted."""

from __future__ import annotations

from collections.abc import Mapping

import pyqtgraph as pg

from app.theme import Theme
from app.views.bar_items import NumberedBars
from app.views.counted_rounds import CountedRounds
from app.views.labels import DASH
from app.views.plot_source import Table
from core.events import Event, Lane


class AcceptanceByPlace:
    """A PlotSource: accepted at a place over the rounds that drafted it."""

    title, unit, across = "Acceptance by place", "%", "place"
    empty = "nothing tested yet"

    def attach(self, plot: pg.PlotItem) -> None:
        """Create the items once."""
        self._plot = plot
        self.rounds = CountedRounds()
        self.bars = NumberedBars(plot, "accepted")
        plot.getViewBox().setYRange(
            0, 145, padding=0
        )  # room for a number on a full bar
        plot.getAxis("left").setTicks([[(v, str(v)) for v in (0, 50, 100)]])

    def on_event(self, event: Event) -> bool:
        """Take in an event."""
        return self.rounds.on_event(event)

    def show_rounds(self, shown: Mapping[Lane, int]) -> None:
        """Count only so many rounds of each lane."""
        self.rounds.show_rounds(shown)

    def clear(self) -> None:
        """Forget everything."""
        self.rounds.clear()

    def _shares(self) -> list[float | None]:
        return list(self.rounds.statistics.acceptance_by_place())

    def draw(self) -> None:
        """Put the numbers so far on the bars."""
        shares = self._shares()
        texts = [DASH if s is None else f"{100 * s:.0f}" for s in shares]
        self.bars.set_heights([100 * (s or 0.0) for s in shares], texts)
        left = 0.4 if len(shares) <= 9 else -0.2  # room for 100 on a narrow bar
        self._plot.getViewBox().setXRange(left, max(4, len(shares)) + 0.6, padding=0)

    def restyle(self, theme: Theme) -> None:
        """Take the theme's colours."""
        self.bars.restyle(theme)

    def mark_round(self, lane: Lane | None, round_index: int) -> None:
        """Light the places that the round tested."""
        shape = self.rounds.shape(lane, round_index)
        self.bars.light(set(range(1, shape.tested + 1)) if shape else set())

    def round_at(self, x: float) -> tuple[Lane, int] | None:
        """Return no round: a bar is of many."""
        return None

    def is_empty(self) -> bool:
        """Return whether no place was drafted yet."""
        return not self._shares()

    def key(self, theme: Theme) -> str:
        """Return no key: there is one kind of bar."""
        return ""

    def note(self) -> str:
        """Return since when is counted."""
        return self.rounds.since

    def table(self) -> Table:
        """Return place and share."""
        shares = self._shares()
        rows = [(i, s) for i, s in enumerate(shares, start=1)]
        return ("place", "accepted / rounds that drafted it"), list(rows)

    def summary(self) -> str:
        """Return the shares in words."""
        shares = [s for s in self._shares() if s is not None]
        parts = [f"place {i}: {100 * s:.0f} %" for i, s in enumerate(shares, start=1)]
        return ", ".join(parts) or self.empty
