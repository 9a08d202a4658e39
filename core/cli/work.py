"""Pulling a session's events on the terminal."""

from __future__ import annotations

import gc
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from core.config import DecodingConfig, PairConfig
from core.control import Control
from core.events import Event, LoadProgress, PairLoaded
from core.session import Session
from core.trace import TraceHeader, TraceWriter

Listener = Callable[[Event], None]


class Progress:
    """Shows load progress on standard error, one line that is written over."""

    def __init__(self) -> None:
        self._shown = ""
        self._live = sys.stderr.isatty()

    def on_event(self, event: Event) -> None:
        """Show a stage; the same stage is said once where lines cannot be rewritten."""
        if not isinstance(event, LoadProgress):
            return
        if self._live:
            share = "" if event.fraction is None else f" {event.fraction:4.0%}"
            print(
                f"\r\x1b[K{event.stage}{share} {event.detail}", end="", file=sys.stderr
            )
        elif event.stage != self._shown:
            print(event.stage, file=sys.stderr)
        self._shown = event.stage

    def clear(self) -> None:
        """Take the line away."""
        if self._live and self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


@contextmanager
def interruptible(control: Control) -> Iterator[None]:
    """Let the first Ctrl+C stop the run, so that it ends with its totals."""

    def stop(signum: int, frame: object) -> None:
        if control.should_stop():
            raise KeyboardInterrupt
        control.stop()

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def load(
    session: Session, pair: PairConfig, control: Control, *, allow_download: bool
) -> PairLoaded:
    """Load a pair and show how far it is.

    Raises:
        KeyboardInterrupt: if it was cancelled.
    """
    progress, loaded = Progress(), None
    for event in session.load(pair, control, allow_download=allow_download):
        progress.on_event(event)
        loaded = event if isinstance(event, PairLoaded) else loaded
    progress.clear()
    if loaded is None:
        raise KeyboardInterrupt
    for note in loaded.notes:
        print(note, file=sys.stderr)
    gc.freeze()  # for good: see core.runtime.heap.libraries_spared
    return loaded


def listen(events: Iterator[Event], *listeners: Listener) -> None:
    """Hand every event to every listener."""
    for event in events:
        for listener in listeners:
            listener(event)


@contextmanager
def traced(
    path: Path | None, loaded: PairLoaded, settings: DecodingConfig
) -> Iterator[Listener]:
    """Give a listener that writes a trace, or one that does nothing without a path."""
    if path is None:
        yield lambda event: None
        return
    from core.machine import describe_machine

    header = TraceHeader(
        target=loaded.target,
        draft=loaded.draft,
        settings=settings,
        machine=describe_machine(loaded.target.device),
        recorded_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    with TraceWriter(path, header) as writer:
        yield writer.append
