"""One piece of long work at a time: load, run, race, sweep, verify, distill queue here.

Two parallel kernels at once would spoil each other's timing, and two models loading at
once each other's memory. Importable without torch, so that the window can ask who holds
the device.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from core.events import LoadProgress

Event = TypeVar("Event")
_LOOK_AGAIN_S = 0.05  # how often someone who waits asks whether to stop waiting


class DeviceLock:
    """A queue of one-at-a-time work, each with a name that people can read.

    Any thread may release what another acquired: a generator can be closed from
    elsewhere. It is not re-entrant.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._queue: list[object] = []  # first come, first served
        self._holder: str | None = None

    def holder(self) -> str | None:
        """Return what holds the device now, or None."""
        return self._holder

    def in_turn(
        self,
        what: str,
        should_stop: Callable[[], bool],
        work: Callable[[], Iterable[Event]],
    ) -> Iterator[Event | LoadProgress]:
        """Do ``work`` once the device is free.

        Args:
            what: names the work for those who wait, such as "a race".
            should_stop: asked while waiting; True gives up.
            work: begins it, once the device is held.

        Yields:
            What holds the device now, if anything does; then what ``work`` yields.
        """
        if self._holder:
            yield LoadProgress(f"Waiting for {self._holder} to end")
        with self.acquire(what, should_stop) as held:
            if held:
                yield from work()

    @contextmanager
    def acquire(
        self, what: str, should_stop: Callable[[], bool] = lambda: False
    ) -> Iterator[bool]:
        """Hold the device for ``what``.

        Args:
            what: names the work for those who wait, such as "a race".
            should_stop: asked while waiting; True gives up.

        Yields:
            True when the device is held, False when ``should_stop`` came first.
        """
        held = self._wait(what, should_stop)
        try:
            yield held
        finally:
            if held:
                self._release()

    def _wait(self, what: str, should_stop: Callable[[], bool]) -> bool:
        ticket = object()
        with self._changed:
            self._queue.append(ticket)
            try:
                while self._holder is not None or self._queue[0] is not ticket:
                    if should_stop():
                        return False
                    self._changed.wait(_LOOK_AGAIN_S)
                self._holder = what
                return True
            finally:
                self._queue.remove(ticket)
                self._changed.notify_all()

    def _release(self) -> None:
        with self._changed:
            self._holder = None
            self._changed.notify_all()


DEVICE_LOCK = DeviceLock()  # the process's one device
