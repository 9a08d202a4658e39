"""A run in the Chrome-trace format, for the profilers that read it.

One process for each repeat, one thread for each lane, one complete event ("ph": "X")
for each phase of a round. Times are microseconds on the lane's own clock, which counts
the lane's own work only: in a race both lanes begin at 0, as they would alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from core.errors import TraceError
from core.events import Event, Lane, PrefillFinished, RoundFinished, RunStarted

PHASES = ("draft", "verify", "rule", "other")
THREADS = {Lane.SPECULATIVE: 1, Lane.PLAIN: 2}


def chrome_events(events: Iterable[Event]) -> Iterator[dict[str, Any]]:
    """Yield the entries of ``traceEvents``."""
    process, prefill = 0, dict.fromkeys(Lane, 0.0)
    seen: set[Lane] = set()
    for event in events:
        match event:
            case RunStarted():
                if not process or event.lane in seen:
                    process, seen = process + 1, set()
                    yield _name("process_name", process, 0, _run_name(event))
                seen.add(event.lane)
                prefill[event.lane] = 0.0
                thread = THREADS[event.lane]
                yield _name("thread_name", process, thread, event.lane.value)
            case PrefillFinished():
                prefill[event.lane] = event.prefill_ms
                yield _phase(process, event.lane, "prefill", 0.0, event.prefill_ms)
            case RoundFinished():
                yield from _round(process, event, prefill[event.lane])
            case _:
                pass


def write_chrome_trace(path: str | os.PathLike[str], events: Iterable[Event]) -> None:
    """Write a file that profilers open; it stays as it was where that fails.

    Raises:
        TraceError: if it cannot be written.
    """
    path = Path(path)
    values = {"traceEvents": list(chrome_events(events)), "displayTimeUnit": "ms"}
    part = path.with_name(path.name + ".part")
    try:
        part.write_text(json.dumps(values, separators=(",", ":")), encoding="ascii")
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        reason = error.strerror or type(error).__name__
        raise TraceError(
            f"Cannot write {path.name}: {reason}; choose another folder.", path=path
        ) from error


def _run_name(event: RunStarted) -> str:
    if event.warm_up:
        return "warm-up"
    return f"repeat {event.repeat}" if event.repeat else "run"


def _round(process: int, event: RoundFinished, prefill_ms: float) -> Iterator[dict]:
    start = prefill_ms + event.clock_ms - event.round_ms
    facts = {
        "round": event.round_index + 1,
        "drafted": event.counts.drafted,
        "accepted": event.counts.accepted,
        "emitted": len(event.tokens),
        "text": "".join(token.text for token in event.tokens),
    }
    for name in PHASES:
        duration = getattr(event, f"{name}_ms")
        if duration > 0:
            yield _phase(process, event.lane, name, start, duration, facts)
        start += duration


def _phase(
    process: int,
    lane: Lane,
    name: str,
    start_ms: float,
    duration_ms: float,
    facts: dict[str, Any] | None = None,
) -> dict[str, Any]:
    return {
        "name": name,
        "cat": lane.value,
        "ph": "X",
        "pid": process,
        "tid": THREADS[lane],
        "ts": round(1000 * max(0.0, start_ms), 3),
        "dur": round(1000 * duration_ms, 3),
        "args": facts or {},
    }


def _name(what: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {
        "name": what,
        "ph": "M",
        "pid": process,
        "tid": thread,
        "args": {"name": name},
    }
