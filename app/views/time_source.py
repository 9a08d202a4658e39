"""What the three plots over time have in common: tokens across, two lanes, marks."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg

from app.series import Array, RingBuffer, SteadyRange
from app.theme import Theme
from app.views.labels import change
from app.views.time_marks import TimeMarks
from core.events import Event, Lane, RoundFinished, RunStarted, SettingsChanged

FEWEST_TOKENS = 16
MOST_ROUNDS = 32768  # a run has no more tokens; memory that is not written costs none
NO_NUMBERS = np.zeros(0)


class LaneSeries:
    """The rounds of one lane: the first token, the last token, then its numbers."""

    def __init__(self, columns: int) -> None:
        self._rows = RingBuffer(MOST_ROUNDS, columns=2 + columns)
        self._first_round = 0
        self._limit: int | None = None

    def __len__(self) -> int:
        return len(self._rows)

    def show_rounds(self, count: int) -> None:
        """Let only the first rounds of the run be seen, until the next one comes."""
        self._limit = count

    @property
    def num_shown(self) -> int:
        """How many rounds are seen."""
        if self._limit is None:
            return len(self)
        return min(len(self), max(0, self._limit - self._first_round))

    def append(self, event: RoundFinished, *numbers: float) -> None:
        """Add a round."""
        first = event.position + 1
        self._rows.append(first, event.position + len(event.tokens), *numbers)
        self._first_round = event.round_index + 1 - len(self._rows)
        self._limit = None

    def clear(self) -> None:
        """Forget all rounds."""
        self._rows.clear()
        self._limit = None

    @property
    def tokens(self) -> Array:
        """The number of the last token of each round that is seen, from 1."""
        return self._rows.column(1)[: self.num_shown]

    def numbers(self, index: int = 0) -> Array:
        """Return one of the numbers of each round that is seen."""
        return self.all_numbers(index)[: self.num_shown]

    @property
    def all_tokens(self) -> Array:
        """The number of the last token of each round: what the axis must hold."""
        return self._rows.column(1)

    def all_numbers(self, index: int = 0) -> Array:
        """Return one of the numbers of each round: what the axis must hold."""
        return self._rows.column(2 + index)

    def span_of(self, round_index: int) -> tuple[float, float] | None:
        """Return where a round begins and ends on the axis of tokens."""
        at = round_index - self._first_round
        if not 0 <= at < len(self):
            return None
        return self._rows.column(0)[at] - 0.5, self._rows.column(1)[at] + 0.5

    def round_at(self, token: float) -> int | None:
        """Return the round that brought the token of that number."""
        at = int(np.searchsorted(self.tokens, round(token)))
        return at + self._first_round if token >= 0 and at < len(self) else None


class TimeAxis:
    """Gathers lanes and marks for a plot whose horizontal axis counts tokens."""

    def __init__(self, plot: pg.PlotItem, columns: int) -> None:
        self._plot = plot
        self._run_id = ""
        self.lanes = {lane: LaneSeries(columns) for lane in Lane}
        self.marks = TimeMarks(plot)
        self._right = SteadyRange(FEWEST_TOKENS)
        self._top = SteadyRange(0.001)

    def on_event(self, event: Event) -> bool:
        """Start over with a run; mark its changes of settings."""
        match event:
            case RunStarted():
                self._start(event)
            case SettingsChanged(lane=lane) if self._is_first(lane):
                self.marks.add(event.position + 0.5, change(event.before, event.after))
            case _:
                return False
        return True

    def _start(self, event: RunStarted) -> None:
        self.lanes[event.lane].clear()
        if event.run_id != self._run_id:
            self.clear()
            self._run_id = event.run_id
        if self._is_first(event.lane):
            self.marks.clear()
            self._right.reset()
            self._top.reset()

    def clear(self) -> None:
        """Forget all lanes."""
        for series in self.lanes.values():
            series.clear()
        self.marks.clear()

    def _is_first(self, lane: Lane) -> bool:
        """Return whether a lane's marks count: in a race both lanes send the same."""
        return lane is Lane.SPECULATIVE or not len(self.lanes[Lane.SPECULATIVE])

    def fit(self, highest: float) -> None:
        """Set the ranges by hand, and only when they no longer suit."""
        filled = [s.all_tokens for s in self.lanes.values() if len(s)]
        left = min((float(t[0]) for t in filled), default=1.0)
        right = self._right.fit(max((float(t[-1]) for t in filled), default=1.0))
        self._plot.getViewBox().setXRange(
            0 if left < right / 2 else left, right, padding=0
        )
        self._plot.getViewBox().setYRange(0, self._top.fit(highest), padding=0)

    def mark_round(self, lane: Lane | None, round_index: int) -> None:
        """Light a round up."""
        span = self.lanes[lane].span_of(round_index) if lane else None
        if span is None:
            self.marks.hide_band()
        else:
            self.marks.show_band(*span)

    def round_at(self, x: float) -> tuple[Lane, int] | None:
        """Return the round at ``x``, the speculative lane's if both have one."""
        for lane in (Lane.SPECULATIVE, Lane.PLAIN):
            found = self.lanes[lane].round_at(x)
            if found is not None:
                return lane, found
        return None

    def restyle(self, theme: Theme) -> None:
        """Take the theme's colours."""
        self.marks.restyle(theme)

    def is_empty(self) -> bool:
        """Return whether no lane has a round."""
        return not any(series.num_shown for series in self.lanes.values())


def highest(*series: Array) -> float:
    """Return what an axis must show: all, but for a rare spike that would dwarf it."""
    values = np.concatenate([NO_NUMBERS, *series])
    if not len(values):
        return 0.0
    top, usual = float(values.max()), float(np.percentile(values, 99))
    return usual if top > 4 * usual else top
