"""The rounds on screen in the order of their lanes' own clocks. No Qt in here.

In a race each lane has its own clock, which counts its own work only, so the order in
which the lanes took turns does not matter: a step is the next round to end in either.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from core.events import Event, Lane, RoundFinished, RunStarted


@dataclass(frozen=True, slots=True)
class Step:
    """One round that ends.

    Attributes:
        lane: whose round.
        round_index: its index in the lane.
        clock_ms: the lane's own clock then.
    """

    lane: Lane
    round_index: int
    clock_ms: float


class Timeline:
    """All steps of the last run of each lane. Position n: the first n have ended."""

    def __init__(self) -> None:
        self._clocks: dict[Lane, list[float]] = {}
        self._steps: list[Step] | None = None
        self._clock_of: list[float] = []

    def clear(self) -> None:
        """Forget all rounds."""
        self._clocks, self._steps = {}, None

    def on_event(self, event: Event) -> None:
        """Take in one event."""
        match event:
            case RunStarted():
                self._clocks[event.lane] = []
            case RoundFinished():
                self._clocks.setdefault(event.lane, []).append(event.clock_ms)
            case _:
                return
        self._steps = None

    def __len__(self) -> int:
        return sum(map(len, self._clocks.values()))

    @property
    def lanes(self) -> list[Lane]:
        """The lanes that have rounds."""
        return [lane for lane in Lane if self._clocks.get(lane)]

    def num_rounds(self, lane: Lane) -> int:
        """Return how many rounds a lane has in all."""
        return len(self._clocks.get(lane, ()))

    def step(self, position: int) -> Step | None:
        """Return the last step at a position; None before the first."""
        return self._in_order()[position - 1] if position > 0 else None

    def counts(self, position: int) -> dict[Lane, int]:
        """Return how many rounds of each lane have ended at a position."""
        if position >= len(self):  # while a run goes on: nothing has to be sorted
            return {lane: len(clocks) for lane, clocks in self._clocks.items()}
        clock = self.clock_ms(position)
        counts = {lane: bisect_right(c, clock) for lane, c in self._clocks.items()}
        # Rounds that end at the very same time are steps one after the other.
        late = self._in_order()[position : sum(counts.values())]
        for step in late:
            counts[step.lane] -= 1
        return counts

    def clock_ms(self, position: int) -> float:
        """Return the time at a position; 0 before the first step ends."""
        if position >= len(self):
            ends = (clocks[-1] for clocks in self._clocks.values() if clocks)
            return max(ends, default=0.0)
        step = self.step(position)
        return step.clock_ms if step else 0.0

    def position_at(self, clock_ms: float) -> int:
        """Return how many steps have ended by a time."""
        self._in_order()
        return bisect_right(self._clock_of, clock_ms)

    def position_of(self, lane: Lane, round_index: int) -> int | None:
        """Return the position at which a round has just ended."""
        clocks = self._clocks.get(lane, [])
        if not 0 <= round_index < len(clocks):
            return None
        wanted = Step(lane, round_index, clocks[round_index])
        first = self.position_at(wanted.clock_ms)
        steps = self._in_order()
        return next(p for p in range(first, 0, -1) if steps[p - 1] == wanted)

    def _in_order(self) -> list[Step]:
        if self._steps is None:
            steps = (
                Step(lane, i, clock)
                for lane, clocks in self._clocks.items()
                for i, clock in enumerate(clocks)
            )
            self._steps = sorted(steps, key=lambda step: step.clock_ms)
            self._clock_of = [step.clock_ms for step in self._steps]
        return self._steps
