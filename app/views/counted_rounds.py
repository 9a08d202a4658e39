"""What the two plots of bars have in common: counts since settings last changed."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass

from app.views.labels import change
from core.events import Event, Lane, RoundFinished, RunStarted, SettingsChanged
from core.metrics import RunStatistics

STRIDE = 64  # rounds from one copy of the statistics to the next


@dataclass(frozen=True, slots=True)
class RoundShape:
    """What a round looks like in bars: places accepted, places tested, tokens."""

    accepted: int
    tested: int
    tokens: int


@dataclass(frozen=True, slots=True)
class _Copy:
    """The statistics after some rounds, and how many events led there."""

    statistics: RunStatistics
    since: str
    num_events: int


class CountedRounds:
    """The statistics of the speculative lane, and the shape of each round."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._begin()

    def _begin(self) -> None:
        self._all = RunStatistics(Lane.SPECULATIVE)
        self._all_since = ""
        self._events: list[Event] = []
        self._copies: list[_Copy] = []
        self._shapes: dict[int, RoundShape] = {}
        self._show_all()

    def _show_all(self) -> None:
        self.statistics, self.since = self._all, self._all_since

    def on_event(self, event: Event) -> bool:
        """Take in an event of the speculative lane; say whether anything changed."""
        if getattr(event, "lane", None) is not Lane.SPECULATIVE:
            return False
        if isinstance(event, RunStarted):
            self._begin()
        if not isinstance(event, RunStarted | SettingsChanged | RoundFinished):
            return False
        self._all.on_event(event)
        self._all_since = _since(event, self._all_since)
        self._events.append(event)
        if isinstance(event, RoundFinished):
            self._count(event)
        self._show_all()
        return True

    def _count(self, event: RoundFinished) -> None:
        shape = event.counts.accepted, event.counts.tested, len(event.tokens)
        self._shapes[event.round_index] = RoundShape(*shape)
        if len(self._shapes) % STRIDE == 0:
            kept = copy.deepcopy(self._all), self._all_since, len(self._events)
            self._copies.append(_Copy(*kept))

    def show_rounds(self, shown: Mapping[Lane, int]) -> None:
        """Count only the first rounds of the speculative lane, until the next comes."""
        rounds = shown.get(Lane.SPECULATIVE, 0)
        if rounds >= len(self._shapes):
            self._show_all()
            return
        before = self._copies[: rounds // STRIDE][-1:]
        start = before[0] if before else _Copy(RunStatistics(), "", 0)
        self._recount(start, rounds - rounds // STRIDE * STRIDE)

    def _recount(self, start: _Copy, rounds: int) -> None:
        """Count ``rounds`` more from a copy on; copies stay as they are."""
        self.statistics, self.since = copy.deepcopy(start.statistics), start.since
        for event in self._events[start.num_events :]:
            if not rounds:
                return
            rounds -= isinstance(event, RoundFinished)
            self.statistics.on_event(event)
            self.since = _since(event, self.since)

    def shape(self, lane: Lane | None, round_index: int) -> RoundShape | None:
        """Return a speculative round's shape."""
        return self._shapes.get(round_index) if lane is Lane.SPECULATIVE else None


def _since(event: Event, before: str) -> str:
    """Return since when is counted, once ``event`` is."""
    if isinstance(event, SettingsChanged):
        return f"since {change(event.before, event.after)}"
    return "" if isinstance(event, RunStarted) else before
