"""The object in the background thread that pulls events out of the core."""

from __future__ import annotations

import logging
import traceback
from collections import deque
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import cast

from PySide6.QtCore import QObject, Signal, Slot

from app.jobs import Job
from core.errors import CoreError
from core.events import Event, PrefillFinished, RoundFinished

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Failure:
    """What ended a job, as plain text.

    The exception itself stays behind: its traceback would keep every tensor of the
    failed frames alive, and with them the device's memory.

    Attributes:
        sentence: what happened and what to try.
        detail: more, to unfold.
        trace: the traceback when it is our own fault, else empty.
    """

    sentence: str
    detail: str = ""
    trace: str = ""

    @property
    def is_ours(self) -> bool:
        """Whether this is a fault of the program, not of the input or the machine."""
        return bool(self.trace)


def describe_failure(error: BaseException) -> Failure:
    """Return ``error`` as text, with the traceback if nobody can act on it."""
    if isinstance(error, CoreError):
        return Failure(error.sentence, error.detail)
    text = "".join(traceback.format_exception(error))
    return Failure(f"Something went wrong in Draftrace: {error!r}", trace=text)


class GenerationWorker(QObject):
    """Run one job at a time in a background thread.

    Signals:
        started: a job begins.
        failed: the Failure that ended a job.
        finished: always last.
    """

    started = Signal()
    failed = Signal(object)
    finished = Signal()

    def __init__(self, events: deque[Event]) -> None:
        super().__init__()
        self._events = events

    @Slot(object)
    def run(self, job: object) -> None:
        """Pull the job dry; every way out ends in ``finished``."""
        self.started.emit()
        try:
            self._pull(cast(Job, job))
        except CoreError as error:
            logger.info("job ended: %s", error)
            self.failed.emit(describe_failure(error))
        except Exception as error:
            logger.exception("job failed")
            self.failed.emit(describe_failure(error))
        finally:
            self.finished.emit()

    def _pull(self, job: Job) -> None:
        unread = job.lanes
        # A generator that is dropped half-way must be closed in this thread: its
        # finally blocks give the device's memory back.
        with closing(cast("_Closable", job.work(job.control))) as events:
            for event in events:
                self._events.append(event)
                unread -= isinstance(event, PrefillFinished)
                if _before_a_round(event, unread):
                    job.control.wait_for_turn()


class _Closable(Iterator[Event]):
    def close(self) -> None: ...


def _before_a_round(event: Event, unread: int) -> bool:
    """Return whether the next pull is a round: only then may pause and step act.

    In a race both lanes read the prompt first; a step must not be spent on that.
    """
    if isinstance(event, PrefillFinished):
        return unread == 0
    return isinstance(event, RoundFinished)
