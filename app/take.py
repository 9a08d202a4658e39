"""A race to show: one repeat of it, its rounds in the order of the lanes' clocks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from core.events import (
    Event,
    Lane,
    RaceFinished,
    RepeatFinished,
    RoundFinished,
    RunFinished,
    RunStarted,
)


@dataclass(slots=True)
class Take:
    """What a stage plays.

    Attributes:
        started: how each lane began.
        rounds: of both lanes, by the lanes' own clocks.
        finished: how each lane ended.
        race: the verdict over all repeats; None where there is none.
    """

    started: dict[Lane, RunStarted] = field(default_factory=dict)
    rounds: list[RoundFinished] = field(default_factory=list)
    finished: dict[Lane, RunFinished] = field(default_factory=dict)
    race: RaceFinished | None = None

    @property
    def is_whole(self) -> bool:
        """Whether both lanes came to their end."""
        return set(self.finished) == set(Lane)


def take_of(events: Iterable[Event]) -> Take | None:
    """Return the counted repeat nearest to the median; None where none is whole."""
    takes: dict[int, Take] = {}
    speedups: dict[int, float] = {}
    race, now = None, 0
    for event in events:
        match event:
            case RunStarted():
                now = event.repeat
                takes.setdefault(now, Take()).started[event.lane] = event
            case RoundFinished() if now in takes:
                takes[now].rounds.append(event)
            case RunFinished() if event.repeat in takes:
                takes[event.repeat].finished[event.lane] = event
            case RepeatFinished(speedup=speedup) if event.counted and speedup:
                speedups[event.repeat] = speedup
            case RaceFinished():
                race = event
            case _:
                pass
    return _typical(takes, speedups, race)


def _typical(
    takes: dict[int, Take], speedups: dict[int, float], race: RaceFinished | None
) -> Take | None:
    whole = [n for n in speedups if n in takes and takes[n].is_whole]
    if not whole or race is None or race.speedup.median is None:
        return None
    middle = race.speedup.median
    best = takes[min(whole, key=lambda n: abs(speedups[n] - middle))]
    best.rounds.sort(key=lambda event: event.clock_ms)
    best.race = race
    return best
