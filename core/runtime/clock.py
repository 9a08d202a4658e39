"""A clock that waits for the device before it is read."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

import torch


class Clock:
    """Milliseconds of work on one device.

    Kernels on an accelerator run behind the Python that launched them; a clock that
    does not wait for them measures how fast Python can ask.
    """

    def __init__(self, device: str | torch.device) -> None:
        self._synchronize = _synchronizer(torch.device(device))

    def now_ms(self) -> float:
        """Return the time in milliseconds once the device has nothing left to do."""
        self._synchronize()
        return time.perf_counter() * 1e3


class Laps:
    """Marks in a device's queue, read when the work between them is long done.

    A clock between the parts of a round would wait three times for the device; marks
    are stamped as the device passes them.
    """

    def __init__(self, device: str | torch.device) -> None:
        self._device = torch.device(device)
        self._marks: list[torch.cuda.Event | float] = []

    def mark(self) -> None:
        """Mark this place in the device's work."""
        if self._device.type != "cuda":
            self._marks.append(time.perf_counter() * 1e3)
            return
        event = torch.cuda.Event(enable_timing=True)
        event.record(torch.cuda.current_stream(self._device))
        self._marks.append(event)

    def ms(self) -> list[float]:
        """Return the milliseconds between the marks; waits for the last one."""
        last = self._marks[-1]
        if isinstance(last, torch.cuda.Event):
            last.synchronize()
        return [_between(a, b) for a, b in itertools.pairwise(self._marks)]


def _between(first: Any, second: Any) -> float:
    if isinstance(first, float):
        return second - first
    return float(first.elapsed_time(second))


def _synchronizer(device: torch.device) -> Callable[[], None]:
    if device.type == "cuda":
        return lambda: torch.cuda.synchronize(device)
    if device.type == "mps":  # untested
        return torch.mps.synchronize
    return lambda: None
