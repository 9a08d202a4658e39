"""Keeping the events of the last run, writing them, reading them back."""

from __future__ import annotations

import datetime
import logging
from pathlib import Path

from core.events import (
    Event,
    LoadProgress,
    Machine,
    PairLoaded,
    RaceFinished,
    RaceStarted,
    RunStarted,
)
from core.trace import Trace, TraceHeader, write_trace

logger = logging.getLogger(__name__)

SUFFIX = ".jsonl"
KEPT_FAILURES = 10


class TraceDesk:
    """The events of the last run or race, ready to be written. No Qt in here."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._load: list[Event] = []
        self._recorded = False

    def begin(self, *, recorded: bool = False) -> None:
        """Forget the last run; what comes next is live or from a file."""
        self._recorded = recorded
        self._events = [] if recorded else list(self._load)

    @property
    def events(self) -> tuple[Event, ...]:
        """The events of the last run, in order."""
        return tuple(self._events)

    @property
    def has_run(self) -> bool:
        """Whether there is something to save."""
        return any(isinstance(e, RunStarted) for e in self._events)

    def add(self, event: Event) -> None:
        """Keep an event; of the pair that is in memory, only the last load."""
        if isinstance(event, LoadProgress):
            return
        if isinstance(event, PairLoaded) and not self._recorded:
            self._load = [event]
            self._events = list(self._load)
        else:
            self._events.append(event)

    def header(self, machine: Machine | None, title: str = "") -> TraceHeader:
        """Return what the file says about itself."""
        started = [e for e in self._events if isinstance(e, RunStarted)]
        if not started:
            raise ValueError("nothing was recorded")
        draft = next((e.draft for e in started if e.draft), None)
        races = [e.machine for e in self._events if isinstance(e, RaceFinished)]
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        return TraceHeader(
            started[0].target,
            draft,
            started[0].settings,
            races[-1] if races else machine,
            now,
            title,
        )

    def suggested_name(self) -> str:
        """Return a file name that says what is in it."""
        race = any(isinstance(e, RaceStarted) for e in self._events)
        stamp = datetime.datetime.now().strftime("%Y-%m-%d-%H%M")
        return f"draftrace-{'race' if race else 'run'}-{stamp}{SUFFIX}"


def write(path: Path, desk: TraceDesk, events: tuple[Event, ...]) -> Path:
    """Write ``events``; for an errand, since it reads the machine and the disk."""
    from core.machine import describe_machine

    started = next(e for e in events if isinstance(e, RunStarted))
    header = desk.header(describe_machine(started.target.device))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_trace(path, header, events)
    return path


def write_failed(folder: Path, desk: TraceDesk, events: tuple[Event, ...]) -> Path:
    """Write a run that failed, and delete the oldest of many such files."""
    stamp = datetime.datetime.now().strftime("%Y-%m-%d-%H%M%S")
    path = write(folder / f"failed-{stamp}{SUFFIX}", desk, events)
    for old in sorted(folder.glob(f"failed-*{SUFFIX}"))[:-KEPT_FAILURES]:
        old.unlink(missing_ok=True)
    return path


def origin_of(trace: Trace) -> str:
    """Return a sentence that says where a replayed run comes from."""
    header = trace.header
    target = header.target.name if header.target else "an unnamed target"
    when = f" on {header.recorded_at[:10]}" if header.recorded_at else ""
    machine = f", {header.machine.processor}" if header.machine else ""
    return (
        f"Replayed: {target}, recorded{when}{machine}. The settings on the left are "
        "yours, not those of the recording."
    )
