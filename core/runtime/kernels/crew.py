"""Threads that share the work of one kernel.

Numba's own parallel loops wait for every thread at the end of every loop, so a thread
that has lost its core (to the window, say) holds up all the others, and they start
slowly enough to be felt at five loops a layer. Here a kernel runs in all threads of the
crew at once; each region of it is cut into chunks, and whoever is free claims the next
one. Who comes late finds the regions done and skips them. No threading layer is needed,
so two Python threads can never meet in one that cannot bear it.
"""

from __future__ import annotations

import functools
import threading
from typing import Any

import numpy as np

from core.runtime.kernels import part
from core.runtime.kernels.vector import fetch_add, give_way, read_shared
from core.runtime.threads import physical_cores

_IDLE_S = 0.5  # a helper without work for so long goes home
_LINE = 8  # int64s in a cache line: counters of their own do not slow each other
_SPINS = 200  # looks at a counter before giving the core to somebody else


@part
def claim(board, region):
    """Return the next chunk of ``region`` that nobody has."""
    return fetch_add(board.ctypes.data + region * 16 * _LINE)


@part
def finish(board, region):
    """Say that a claimed chunk of ``region`` is done."""
    fetch_add(board.ctypes.data + region * 16 * _LINE + 8 * _LINE)


@part
def await_all(board, region, chunks):
    """Wait until all ``chunks`` of ``region`` are done."""
    address = board.ctypes.data + region * 16 * _LINE + 8 * _LINE
    spins = 0
    while read_shared(address) < chunks:
        spins += 1
        if spins > _SPINS:
            give_way()


class Crew:
    """The calling thread and its helpers.

    A kernel is called as ``kernel(board, who, *args)`` in each thread; ``who`` counts
    from 0, the caller.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._turn = threading.Lock()  # one kernel at a time, whoever asks
        self._posted = threading.Condition()
        self._job: tuple[Any, ...] | None = None
        self._number = 0
        self._helpers: set[int] = set()

    def run(self, kernel: Any, regions: int, *args: Any) -> None:
        """Run ``kernel`` in all threads and return when its regions are done.

        Args:
            kernel: a compiled function that claims chunks of its regions.
            regions: how many regions it has.
            *args: handed to it in every thread.
        """
        # A fresh board for each run: who is late from the last one reads the old board.
        board = np.zeros((regions, 2, _LINE), dtype=np.int64)
        with self._turn:
            self._post((kernel, board, args))
            try:
                kernel(board, 0, *args)
            finally:
                self._job = None

    def run_alone(self, kernel: Any, regions: int, *args: Any) -> None:
        """Run ``kernel`` in the calling thread only; see :meth:`run`."""
        kernel(np.zeros((regions, 2, _LINE), dtype=np.int64), 0, *args)

    def _post(self, job: tuple[Any, ...]) -> None:
        with self._posted:
            self._job = job
            self._number += 1
            self._posted.notify_all()
            for who in range(1, self.size):
                if who not in self._helpers:
                    self._hire(who)

    def _hire(self, who: int) -> None:
        self._helpers.add(who)
        seen = self._number - 1
        name = f"kernel-helper-{who}"
        threading.Thread(
            target=self._help, args=(who, seen), name=name, daemon=True
        ).start()

    def _help(self, who: int, seen: int) -> None:
        while True:
            with self._posted:
                new = lambda: self._number != seen  # noqa: E731, B023
                if not self._posted.wait_for(new, timeout=_IDLE_S):
                    self._helpers.discard(who)
                    return
                seen, job = self._number, self._job
            if job is not None:
                kernel, board, args = job
                kernel(board, who, *args)
                del kernel, board, args, job


@functools.cache
def crew() -> Crew:
    """Return the process's crew, one thread for each physical core."""
    return Crew(physical_cores())
