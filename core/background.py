"""Work that reports by callback, turned into a generator of progress events."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator
from typing import Any, TypeVar

from core.events import LoadProgress

Report = TypeVar("Report")
Result = TypeVar("Result")
_DONE = object()


def with_progress(
    work: Callable[[Callable[[LoadProgress], None]], Result],
) -> Generator[LoadProgress, None, Result]:
    """Do what :func:`with_reports` does, for work that reports how a load goes."""
    return with_reports(work)


def with_reports(
    work: Callable[[Callable[[Report], None]], Result],
) -> Generator[Report, None, Result]:
    """Run ``work(report)`` in a thread and yield what it reports.

    A loader cannot yield from the middle of a library call; a thread of its own lets
    whoever pulls see each report when it is made.

    Returns:
        What ``work`` returned (the value of ``yield from``).

    Raises:
        Exception: what ``work`` raised, in the thread that pulls.
    """
    reports: queue.SimpleQueue[Any] = queue.SimpleQueue()
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append(work(reports.put))
        except BaseException as error:
            outcome.append(error)
        finally:
            reports.put(_DONE)

    thread = threading.Thread(target=run, name="draftrace-load", daemon=True)
    thread.start()
    try:
        while (report := reports.get()) is not _DONE:
            yield report
    finally:
        thread.join()
    return _value(outcome.pop())


def _value(outcome: Any) -> Any:
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome
