"""A clock that waits for the device before it is read."""

from __future__ import annotations

import time
from collections.abc import Callable

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


def _synchronizer(device: torch.device) -> Callable[[], None]:
    if device.type == "cuda":
        return lambda: torch.cuda.synchronize(device)
    if device.type == "mps":  # untested
        return torch.mps.synchronize
    return lambda: None
