"""One self-contained HTML file about a run or race, which opens without a network.

Everything that a model wrote is escaped, nothing is fetched, and the trace is inside: a
reader can save it and replay what the report says.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

import resources
from core.errors import TraceError
from core.events import Event
from core.lab import report_numbers as numbers
from core.lab import report_parts as parts
from core.lab.report_facts import fold
from core.trace import Trace, TraceHeader, event_line, header_line, read_trace

PAGE, STYLE = "report/page.html", "report/style.css"
TRACE_BEGIN, TRACE_END = '<script type="application/json" id="trace">', "</script>"

NO_TRACE = "This page holds no trace; choose a report that Draftrace wrote."


def report_html(header: TraceHeader, events: Sequence[Event]) -> str:
    """Return the whole page.

    Args:
        header: what was run, on what.
        events: in order; gone through twice.

    Raises:
        TraceError: if an event cannot be written.
    """
    facts = fold(events)
    values = {
        "title": parts.title(header, facts),
        "style": parts.colors() + resources.text(STYLE),
        "origin": parts.origin(header),
        "verdict": numbers.verdict(facts),
        "numbers": numbers.lanes(facts),
        "repeats": numbers.repeats(facts),
        "plots": parts.plots(facts),
        "texts": parts.texts(facts),
        "settings": parts.settings(header, facts),
        "models": parts.models(header),
        "machine": parts.machine(header),
        "notes": parts.notes(facts),
        "trace": embedded(header, events),
    }
    page = resources.text(PAGE)
    # One pass, so that no text of a model can name a place of the page.
    return re.sub(r"\{\{(\w+)\}\}", lambda found: values[found[1]], page)


def write_report(
    path: str | os.PathLike[str], header: TraceHeader, events: Sequence[Event]
) -> None:
    """Write the page; what stood at ``path`` stays until the new one is whole.

    Raises:
        TraceError: if it cannot be written.
    """
    path = Path(path)
    part = path.with_name(path.name + ".part")
    try:
        part.write_text(report_html(header, events), encoding="utf-8")
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        reason = error.strerror or type(error).__name__
        raise TraceError(
            f"Cannot write {path.name}: {reason}; choose another folder.", path=path
        ) from error


def embedded(header: TraceHeader, events: Sequence[Event]) -> str:
    """Return the trace as it stands in a page: JSON in which no ``<`` is left."""
    lines = [header_line(header), *(event_line(event) for event in events)]
    return "\n".join(line.replace("<", "\\u003c") for line in lines) + "\n"


def trace_in(page: str) -> bytes:
    """Return the trace that a report holds, as the file it would be.

    Raises:
        TraceError: if there is none in it.
    """
    _, found, rest = page.partition(TRACE_BEGIN)
    text, ended, _ = rest.partition(TRACE_END)
    if not found or not ended:
        raise TraceError(NO_TRACE)
    return text.strip().encode() + b"\n"


def read_report(path: str | os.PathLike[str]) -> Trace:
    """Read the trace that a report holds.

    Raises:
        TraceError: if the page is missing, holds no trace, or a damaged one.
    """
    path = Path(path)
    with tempfile.TemporaryDirectory() as folder:
        inner = Path(folder) / path.name
        try:
            inner.write_bytes(trace_in(path.read_text(encoding="utf-8")))
        except UnicodeDecodeError as error:
            raise TraceError(NO_TRACE, path=path) from error
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise TraceError(f"Cannot read {path.name}: {reason}.") from error
        return read_trace(inner)
