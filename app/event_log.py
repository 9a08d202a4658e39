"""The events of a run: the newest in memory, the older ones of a long run on disk.

A round with the candidates of every place takes some ten kilobytes, so a run of many
thousand rounds would fill the memory of a small machine. No Qt in here.
"""

from __future__ import annotations

import logging
import pickle
import tempfile
import threading
import weakref
from array import array
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import IO, overload

from core.events import Event, Lane, Place, RoundFinished, RunStarted, TokenOutcome

logger = logging.getLogger(__name__)

IN_MEMORY = 1000  # events; enough for most runs, and quick to collect garbage among


class EventLog(Sequence[Event]):
    """A growing list of events that keeps its memory bounded.

    Events that have left memory are read back from a file without a name, which is gone
    with the program. They are pickled, since nobody else reads them and a line of a
    trace takes four times as long.
    """

    def __init__(self, in_memory: int = IN_MEMORY) -> None:
        self._newest: deque[Event] = deque()
        self._in_memory = in_memory
        self._offsets = array("q", [0])  # of each event on disk, and of the end
        self._file: IO[bytes] | None = None
        self._lock = threading.Lock()  # an errand may save while a person scrubs
        self._rounds: dict[tuple[Lane, int], int] = {}
        self._broken = False

    def __len__(self) -> int:
        return self.on_disk + len(self._newest)

    @property
    def on_disk(self) -> int:
        """How many events have left memory."""
        return len(self._offsets) - 1

    def append(self, event: Event) -> None:
        """Take in an event; the oldest one in memory may have to leave."""
        with self._lock:
            if isinstance(event, RunStarted):
                self._forget_rounds(event.lane)
            elif isinstance(event, RoundFinished):
                self._rounds[event.lane, event.round_index] = len(self)
            self._newest.append(event)
            if len(self._newest) > self._in_memory and not self._broken:
                self._move_out()  # one at a time: the window never stops for a block

    def round_of(self, lane: Lane, round_index: int) -> RoundFinished | None:
        """Return a round of the last run of ``lane``, with all its candidates."""
        number = self._rounds.get((lane, round_index))
        event = None if number is None else self[number]
        return event if isinstance(event, RoundFinished) else None

    @overload
    def __getitem__(self, index: int) -> Event: ...

    @overload
    def __getitem__(self, index: slice) -> list[Event]: ...

    def __getitem__(self, index: int | slice) -> Event | list[Event]:
        """Return an event, or several."""
        if isinstance(index, slice):
            return [self._get(i) for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        return self._get(index % len(self))

    def __iter__(self) -> Iterator[Event]:
        """Go through all events, one in memory at a time."""
        return (self._get(i) for i in range(len(self)))

    def _get(self, index: int) -> Event:
        with self._lock:
            if index >= self.on_disk:
                return self._newest[index - self.on_disk]
            assert self._file is not None
            self._file.seek(self._offsets[index])
            return pickle.load(self._file)

    def _forget_rounds(self, lane: Lane) -> None:
        self._rounds = {k: n for k, n in self._rounds.items() if k[0] is not lane}

    def _move_out(self) -> None:
        """Write the oldest event to the disk; without room there, keep them all."""
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile()  # noqa: SIM115 (lives as we do)
                weakref.finalize(self, self._file.close)
            self._file.seek(self._offsets[-1])
            pickle.dump(self._newest[0], self._file, pickle.HIGHEST_PROTOCOL)
            end = self._file.tell()
        except OSError:
            logger.exception("old events stay in memory")
            self._broken = True
            return
        self._offsets.append(end)
        self._newest.popleft()


def light(event: RoundFinished) -> RoundFinished:
    """Return a round without its candidates: a tenth of the size, for views to keep."""
    return replace(
        event,
        places=tuple(map(_light_place, event.places)),
        tokens=tuple(map(_light_token, event.tokens)),
    )


def _light_place(place: Place) -> Place:
    return replace(place, draft_top=(), target_top=(), residual_top=())


def _light_token(token: TokenOutcome) -> TokenOutcome:
    return replace(token, target_top=()) if token.target_top else token
