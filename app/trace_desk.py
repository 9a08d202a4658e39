"""Keeping the events of the last run, writing them, reading them back."""

from __future__ import annotations

import datetime
import logging
from collections.abc import Sequence
from pathlib import Path

from app.event_log import EventLog
from core.events import (
    Event,
    Lane,
    LoadProgress,
    Machine,
    PairLoaded,
    RaceFinished,
    RaceStarted,
    RoundFinished,
    RunStarted,
)
from core.trace import Trace, TraceHeader, write_trace

logger = logging.getLogger(__name__)

SUFFIX = ".jsonl"
KEPT_FAILURES = 10


class TraceDesk:
    """The events of the last run or race, ready to be written. No Qt in here."""

    def __init__(self) -> None:
        self._load: PairLoaded | None = None
        self.recorded = False
        self.header_read: TraceHeader | None = None
        self._begin_log()

    def _begin_log(self) -> None:
        # A new log each time: an errand may still be writing the old one.
        self._log = EventLog()
        self._landmarks: list[RunStarted | RaceStarted | RaceFinished] = []
        if self._load is not None and not self.recorded:
            self._log.append(self._load)

    def begin(self, recording: TraceHeader | None = None) -> None:
        """Forget the last run; what comes next is live, or read with a header."""
        self.recorded, self.header_read = recording is not None, recording
        self._begin_log()

    @property
    def events(self) -> Sequence[Event]:
        """The events of the last run, in order; those of a long one are on the disk."""
        return self._log if self._log.on_disk else tuple(self._log)

    @property
    def has_run(self) -> bool:
        """Whether there is something to save."""
        return any(isinstance(e, RunStarted) for e in self._landmarks)

    @property
    def has_race(self) -> bool:
        """Whether it is a race that came to its end."""
        return any(isinstance(e, RaceFinished) for e in self._landmarks)

    def round_of(self, lane: Lane, round_index: int) -> RoundFinished | None:
        """Return a round of the last run with all it holds."""
        return self._log.round_of(lane, round_index)

    def add(self, event: Event) -> None:
        """Keep an event; of the pair that is in memory, only the last load."""
        if isinstance(event, LoadProgress):
            return
        if isinstance(event, PairLoaded) and not self.recorded:
            self._load = event
            self._begin_log()
            return
        if isinstance(event, RunStarted | RaceStarted | RaceFinished):
            self._landmarks.append(event)
        self._log.append(event)

    def header(self, machine: Machine | None, title: str = "") -> TraceHeader:
        """Return what the file says about itself."""
        if self.header_read is not None:
            return self.header_read  # a recording stays what it is
        started = [e for e in self._landmarks if isinstance(e, RunStarted)]
        if not started:
            raise ValueError("nothing was recorded")
        draft = next((e.draft for e in started if e.draft), None)
        races = [e.machine for e in self._landmarks if isinstance(e, RaceFinished)]
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        return TraceHeader(
            started[0].target,
            draft,
            started[0].settings,
            races[-1] if races else machine,
            now,
            title,
        )

    def device(self) -> str:
        """Return where the target of the last run is."""
        started = (e for e in self._landmarks if isinstance(e, RunStarted))
        return next(e.target.device for e in started)

    def suggested_name(self, suffix: str = SUFFIX) -> str:
        """Return a file name that says what is in it."""
        race = any(isinstance(e, RaceStarted) for e in self._landmarks)
        stamp = datetime.datetime.now().strftime("%Y-%m-%d-%H%M")
        return f"draftrace-{'race' if race else 'run'}-{stamp}{suffix}"


def full_header(desk: TraceDesk) -> TraceHeader:
    """Return the header with its machine; for an errand, since it looks at that."""
    from core.machine import describe_machine

    return desk.header(describe_machine(desk.device()))


def write(path: Path, desk: TraceDesk, events: Sequence[Event]) -> Path:
    """Write ``events``; for an errand, since it reads the machine and the disk."""
    header = full_header(desk)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_trace(path, header, events)
    return path


def write_page(path: Path, desk: TraceDesk, events: Sequence[Event]) -> Path:
    """Write a report about ``events``; for an errand, as :func:`write`."""
    from core.lab.report import write_report

    write_report(path, full_header(desk), events)
    return path


def write_failed(folder: Path, desk: TraceDesk, events: Sequence[Event]) -> Path:
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
