"""What a report tells of a run or race, folded from its events. No torch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from core.events import (
    Event,
    Lane,
    Noted,
    RaceFinished,
    RepeatFinished,
    RoundFinished,
    RunFinished,
    RunStarted,
    SettingsChanged,
    TokenOutcome,
)
from core.metrics import RunStatistics


@dataclass(slots=True)
class LaneFacts:
    """The last run of one lane.

    Attributes:
        started: how it began.
        finished: how it ended; None where the trace ends before.
        statistics: its counts and what is derived from them.
        times: of each round: last token, and milliseconds draft, verify, rule, other.
        clock: of each round: last token, and the lane's own clock in milliseconds.
        tokens: the committed tokens.
        changes: settings that changed in mid-run.
    """

    started: RunStarted
    statistics: RunStatistics
    finished: RunFinished | None = None
    times: list[tuple[int, float, float, float, float]] = field(default_factory=list)
    clock: list[tuple[int, float]] = field(default_factory=list)
    tokens: list[TokenOutcome] = field(default_factory=list)
    changes: list[SettingsChanged] = field(default_factory=list)

    def add(self, event: RoundFinished) -> None:
        """Take in a round."""
        last = event.position + len(event.tokens)
        split = event.draft_ms, event.verify_ms, event.rule_ms, event.other_ms
        self.times.append((last, *split))
        self.clock.append((last, event.clock_ms))
        self.tokens += event.tokens


@dataclass(slots=True)
class RunFacts:
    """A run or a race.

    Attributes:
        lanes: the last run of each lane that ran.
        ends: every measured lane that ended, in order.
        repeats: of a race.
        race: its end; None for a run, or where the trace ends before.
        notes: sentences of the core, each once.
    """

    lanes: dict[Lane, LaneFacts] = field(default_factory=dict)
    ends: list[RunFinished] = field(default_factory=list)
    repeats: list[RepeatFinished] = field(default_factory=list)
    race: RaceFinished | None = None
    notes: list[str] = field(default_factory=list)


def fold(events: Iterable[Event]) -> RunFacts:
    """Return what a report tells, from events in the order in which they happened."""
    facts = RunFacts()
    for event in events:
        _take(facts, event)
    return facts


def _take(facts: RunFacts, event: Event) -> None:
    match event:
        case RunStarted():
            statistics = RunStatistics(event.lane)
            facts.lanes[event.lane] = LaneFacts(event, statistics)
        case RoundFinished():
            facts.lanes[event.lane].add(event)
        case SettingsChanged():
            facts.lanes[event.lane].changes.append(event)
        case RunFinished():
            facts.lanes[event.lane].finished = event
            if not facts.lanes[event.lane].started.warm_up:
                facts.ends.append(event)
        case RepeatFinished():
            facts.repeats.append(event)
        case RaceFinished():
            facts.race = event
        case Noted(sentence=sentence) if sentence not in facts.notes:
            facts.notes.append(sentence)
        case _:
            pass
    if isinstance(event, RunStarted | RoundFinished | SettingsChanged):
        facts.lanes[event.lane].statistics.on_event(event)
