"""A plot of rounds over tokens: a few curves, each one number of a round."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyqtgraph as pg

from app.theme import Theme
from app.views.lane_curve import LaneCurve, Look
from app.views.plot_source import Table
from app.views.time_source import TimeAxis, highest
from core.events import Event, Lane, RoundFinished


@dataclass(frozen=True, slots=True)
class Stripe:
    """One curve: whose rounds, how it looks, which number of a round."""

    lane: Lane
    look: Look
    value: Callable[[RoundFinished], float]


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a plot: heading, unit, unit with digits for sentences, if empty."""

    title: str
    unit: str
    measure: str
    empty: str = "no round yet"


class TimePlot:
    """A PlotSource for numbers over time."""

    across = "token"

    def __init__(self, words: Words, stripes: tuple[Stripe, ...]) -> None:
        self.title, self.unit, self.empty = words.title, words.unit, words.empty
        self._measure = words.measure
        self._stripes = stripes

    def attach(self, plot: pg.PlotItem) -> None:
        """Create the items once."""
        self.axis = TimeAxis(plot, len(self._stripes))
        self._curves = [LaneCurve(plot, stripe.look) for stripe in self._stripes]

    def on_event(self, event: Event) -> bool:
        """Take in a round's numbers, or what the axis is concerned with."""
        if not isinstance(event, RoundFinished):
            return self.axis.on_event(event)
        mine = [s.value(event) if s.lane is event.lane else 0.0 for s in self._stripes]
        self.axis.lanes[event.lane].append(event, *mine)
        return True

    def clear(self) -> None:
        """Forget everything."""
        self.axis.clear()

    def show_rounds(self, shown: Mapping[Lane, int]) -> None:
        """Show only so many rounds of each lane."""
        for lane, count in shown.items():
            self.axis.lanes[lane].show_rounds(count)

    def draw(self) -> None:
        """Put the numbers so far into the curves."""
        shown = [self.axis.lanes[stripe.lane] for stripe in self._stripes]
        # Of all numbers: no axis moves while one scrubs.
        self.axis.fit(highest(*(s.all_numbers(i) for i, s in enumerate(shown))))
        for i, (series, curve) in enumerate(zip(shown, self._curves, strict=True)):
            curve.set_data(series.tokens, series.numbers(i))

    def restyle(self, theme: Theme) -> None:
        """Take the theme's colours."""
        self.axis.restyle(theme)
        for curve in self._curves:
            curve.restyle(theme)

    def mark_round(self, lane: Lane | None, round_index: int) -> None:
        """Light a round up."""
        self.axis.mark_round(lane, round_index)

    def round_at(self, x: float) -> tuple[Lane, int] | None:
        """Return the round at a place of the axis."""
        return self.axis.round_at(x)

    def is_empty(self) -> bool:
        """Return whether no curve has a point."""
        return not any(self.axis.lanes[s.lane].num_shown for s in self._stripes)

    def key(self, theme: Theme) -> str:
        """Return the key of the curves that have points."""
        shown = [s.look for s in self._stripes if self.axis.lanes[s.lane].num_shown]
        brief = len(shown) > 2  # shapes tell them apart where room is short
        gap = " " if brief else "&nbsp; "
        return gap.join(k.sample(theme, with_line=not brief) for k in shown)

    def note(self) -> str:
        """Return nothing: changes of settings stand where they happened."""
        return ""

    def table(self) -> Table:
        """Return every point: curve, token, number."""
        rows: list[tuple[object, ...]] = []
        for i, stripe in enumerate(self._stripes):
            series = self.axis.lanes[stripe.lane]
            pairs = zip(series.tokens.tolist(), series.numbers(i).tolist(), strict=True)
            rows += [(stripe.look.name, int(token), value) for token, value in pairs]
        return ("curve", "token", self._measure), rows

    def summary(self) -> str:
        """Return each curve's last number."""
        parts = [
            f"{stripe.look.name} {self.axis.lanes[stripe.lane].numbers(i)[-1]:.1f}"
            for i, stripe in enumerate(self._stripes)
            if self.axis.lanes[stripe.lane].num_shown
        ]
        return f"{', '.join(parts)} {self._measure}" if parts else self.empty
