"""What the two plots of bars have in common: counts since settings last changed."""

from __future__ import annotations

from dataclasses import dataclass

from app.views.labels import change
from core.events import Event, Lane, RoundFinished, RunStarted, SettingsChanged
from core.metrics import RunStatistics


@dataclass(frozen=True, slots=True)
class RoundShape:
    """What a round looks like in bars: places accepted, places tested, tokens."""

    accepted: int
    tested: int
    tokens: int


class CountedRounds:
    """The statistics of the speculative lane, and the shape of each round."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self.statistics = RunStatistics(Lane.SPECULATIVE)
        self.since = ""
        self._shapes: dict[int, RoundShape] = {}

    def on_event(self, event: Event) -> bool:
        """Take in an event of the speculative lane; say whether anything changed."""
        if getattr(event, "lane", None) is not Lane.SPECULATIVE:
            return False
        self.statistics.on_event(event)
        match event:
            case RunStarted():
                self.since, self._shapes = "", {}
            case SettingsChanged():
                self.since = f"since {change(event.before, event.after)}"
            case RoundFinished(counts=counts):
                self._shapes[event.round_index] = RoundShape(
                    counts.accepted, counts.tested, len(event.tokens)
                )
            case _:
                return False
        return True

    def shape(self, lane: Lane | None, round_index: int) -> RoundShape | None:
        """Return a speculative round's shape."""
        return self._shapes.get(round_index) if lane is Lane.SPECULATIVE else None
