"""What a plot is, apart from its frame: the numbers and how they are drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

import pyqtgraph as pg

from app.theme import Theme
from core.events import Event, Lane

Table = tuple[tuple[str, ...], list[tuple[object, ...]]]


class PlotSource(Protocol):
    """Gathers events, and draws them when a card asks.

    Attributes:
        title: the card's heading.
        unit: what the vertical axis counts.
        across: what the horizontal axis counts.
        empty: the word in a plot that has nothing to show.
    """

    title: str
    unit: str
    across: str
    empty: str

    def attach(self, plot: pg.PlotItem) -> None:
        """Create the items once; drawing only changes their data."""
        ...

    def on_event(self, event: Event) -> bool:
        """Take in an event and return whether the picture changes."""
        ...

    def clear(self) -> None:
        """Forget everything."""
        ...

    def draw(self) -> None:
        """Put the numbers so far into the items."""
        ...

    def restyle(self, theme: Theme) -> None:
        """Give the items the theme's pens: options reach new items only."""
        ...

    def mark_round(self, lane: Lane | None, round_index: int) -> None:
        """Light a round up; None for no round."""
        ...

    def round_at(self, x: float) -> tuple[Lane, int] | None:
        """Return the round that was drawn at ``x``, where a round has a place."""
        ...

    def is_empty(self) -> bool:
        """Return whether there is nothing to show."""
        ...

    def key(self, theme: Theme) -> str:
        """Return the key of the curves as rich text."""
        ...

    def note(self) -> str:
        """Return what the axis adds to its unit, if anything."""
        ...

    def table(self) -> Table:
        """Return headings and rows with the numbers that are drawn."""
        ...

    def summary(self) -> str:
        """Return the current numbers in words, for screen readers."""
        ...


@runtime_checkable
class Advising(Protocol):
    """A source that says what to do, under its picture."""

    def advice(self) -> str:
        """Return one sentence; empty while too little is known."""
        ...


@runtime_checkable
class Rewindable(Protocol):
    """A source that can show an earlier state of the run."""

    def show_rounds(self, shown: Mapping[Lane, int]) -> None:
        """Show only so many rounds of each lane, until the next round comes."""
        ...
