"""A run as a file: a header, then its events, one JSON object a line.

Opening a trace replays it without any model, so the demo, the tests and a bug report
are the same thing. A trace is meant to be passed on: no access token and no full path
gets into one (prompt and text are the run itself and are kept as they are).
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, get_args

from core.codec import CodecError, decode, encode
from core.config import DecodingConfig
from core.errors import CoreError, TraceError
from core.events import (
    Event,
    LoadProgress,
    Machine,
    ModelFacts,
    Noted,
    PairLoaded,
    RunFinished,
)
from core.redaction import last_component, without_secrets

SCHEMA = 1
FORMAT = "draftrace trace"
EVENT_TYPES: dict[str, type] = {kind.__name__: kind for kind in get_args(Event)}
_Tail = tuple[tuple[Event, ...], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class TraceHeader:
    """What was run, on what.

    Attributes:
        target: the target's facts.
        draft: the drafter's facts; None where the target ran alone.
        settings: at the start.
        machine: what it ran on, with the versions of everything that counts.
        recorded_at: date and time as ISO 8601, or empty.
        title: a name for people, or empty.
    """

    target: ModelFacts | None
    draft: ModelFacts | None
    settings: DecodingConfig
    machine: Machine | None
    recorded_at: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class Trace:
    """A trace as it was read.

    Attributes:
        header: what was run.
        events: in the order in which they happened.
        notes: sentences about what the file lacks; empty for a whole file.
    """

    header: TraceHeader
    events: tuple[Event, ...]
    notes: tuple[str, ...] = ()


CLEANERS: dict[tuple[type, str], Callable[[str], str]] = {
    (ModelFacts, "name"): last_component,
    (ModelFacts, "reference"): last_component,
    (LoadProgress, "stage"): without_secrets,
    (LoadProgress, "detail"): without_secrets,
    (PairLoaded, "notes"): without_secrets,
    (Noted, "sentence"): without_secrets,
    (RunFinished, "error"): without_secrets,
    (TraceHeader, "title"): without_secrets,
}


def header_line(header: TraceHeader) -> str:
    """Return the first line of a trace, without its end.

    Raises:
        TraceError: if the header cannot be written.
    """
    return _as_line({"format": FORMAT, "schema": SCHEMA, **_encoded(header)})


def event_line(event: Event) -> str:
    """Return an event as one line of a trace, without its end.

    Raises:
        TraceError: if the event cannot be written.
    """
    return _as_line({"event": type(event).__name__, **_encoded(event)})


def _as_line(values: dict[str, Any]) -> str:
    return json.dumps(values, allow_nan=False, separators=(",", ":"))


class TraceWriter:
    """Writes events as they come, so that a crash costs at most the last line.

    Raises:
        TraceError: if the file cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str], header: TraceHeader) -> None:
        self.path = Path(path)
        try:
            self._file: IO[str] = self.path.open("w", encoding="ascii", newline="\n")
        except OSError as error:
            raise _cannot("write", self.path, error) from error
        self._write_line(header_line(header))

    def append(self, event: Event) -> None:
        """Write one event and hand it to the system."""
        self._write_line(event_line(event))

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        with contextlib.suppress(OSError):  # what failed to be written said so already
            self._file.close()

    def __enter__(self) -> TraceWriter:
        """Return the writer itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the file."""
        self.close()

    def _write_line(self, text: str) -> None:
        try:
            self._file.write(text + "\n")
            self._file.flush()
        except OSError as error:
            raise _cannot("write", self.path, error) from error


def write_trace(
    path: str | os.PathLike[str], header: TraceHeader, events: Iterable[Event]
) -> None:
    """Write a whole trace; what stood at ``path`` stays until the new one is whole.

    Raises:
        TraceError: if it cannot be written.
    """
    path = Path(path)
    part = path.with_name(path.name + ".part")
    try:
        with TraceWriter(part, header) as writer:
            for event in events:
                writer.append(event)
        part.replace(path)
    except OSError as error:
        raise _cannot("write", path, error) from error
    finally:
        with contextlib.suppress(OSError):  # gone already, or never there
            part.unlink()


def read_trace(path: str | os.PathLike[str]) -> Trace:
    """Read a trace.

    A last line that was cut off in the middle is left out and noted.

    Raises:
        TraceError: if the file is missing, no trace, damaged, or from a newer version.
    """
    path = Path(path)
    try:
        first, *lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise _cannot("read", path, error) from error
    header = _header(path, first)
    tail = lines.pop() if lines else b""  # empty where the last line is whole
    events = [_event(path, n, line) for n, line in enumerate(lines, start=2)]
    last, notes = _tail(path, len(lines) + 2, tail)
    return Trace(header, (*events, *last), notes)


def _header(path: Path, line: bytes) -> TraceHeader:
    value = _parsed(line)
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise TraceError(
            f"{path.name} is not a Draftrace trace; choose a .jsonl file that "
            "Draftrace wrote.",
            path=path,
        )
    schema = value.get("schema")
    if type(schema) is not int or not 1 <= schema <= SCHEMA:
        raise TraceError(
            f"{path.name} has trace schema {schema}, and this version reads up to "
            f"{SCHEMA}; open it with a newer Draftrace.",
            schema=schema,
        )
    return _decoded(path, 1, TraceHeader, value)


def _event(path: Path, number: int, line: bytes) -> Event:
    value = _parsed(line)
    kind = EVENT_TYPES.get(str(value.get("event"))) if isinstance(value, dict) else None
    if kind is None:
        raise _damaged(path, number, f"not an event: {line[:80]!r}")
    return _decoded(path, number, kind, value)


def _tail(path: Path, number: int, line: bytes) -> _Tail:
    if not line.strip():
        return (), ()
    if _parsed(line) is None:
        return (), (f"The last line of {path.name} was cut off and is left out.",)
    return (_event(path, number, line),), ()


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):  # JSON and UTF-8 errors are ValueErrors
        return None


def _decoded(path: Path, number: int, kind: type, value: Any) -> Any:
    try:
        return decode(kind, value)
    except (CodecError, CoreError) as error:  # a setting outside its limits, too
        raise _damaged(path, number, str(error)) from error


def _encoded(value: Event | TraceHeader) -> dict[str, Any]:
    try:
        return encode(value, cleaners=CLEANERS, brief=True)
    except CodecError as error:
        name = type(value).__name__
        raise TraceError(
            f"{name} cannot be written to a trace: {error}.", event=name
        ) from error


def _damaged(path: Path, number: int, detail: str) -> TraceError:
    return TraceError(
        f"{path.name} is damaged in line {number}; it cannot be replayed.",
        detail=detail,
        line=number,
    )


def _cannot(verb: str, path: Path, error: OSError) -> TraceError:
    reason = error.strerror or type(error).__name__
    return TraceError(f"Cannot {verb} the trace {path.name}: {reason}.", path=path)
