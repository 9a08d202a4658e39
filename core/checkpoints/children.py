"""Starting a child process that the terminal's Ctrl+C does not reach."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def deaf_to_ctrl_c() -> Iterator[None]:
    """Start a child inside, which whoever started it will end.

    A terminal sends Ctrl+C to every process of the group. A child that heard it would
    die of it with a traceback of its own, or be taken for one that failed.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield  # a child starts with the mask of the thread that starts it
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
