"""The thread that jobs run in, and the events that come back from it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable

from PySide6.QtCore import QObject, Qt, QThread, QTimer, Signal, Slot

from app.generation_worker import Failure, GenerationWorker
from app.jobs import Job
from core.events import Event, LoadProgress

TICK_MS = 66
TICK_BUDGET_MS = 12.0
SLOWEST_TICK_MS = 200


class JobThread(QObject):
    """Does one job at a time and hands out what it tells, a little per tick.

    Signals:
        told: one event or finding, in order.
        drained: the events of one tick were handed out.
        ended: the last event was handed out; with the Failure that ended it, or None.
        closed: after :meth:`close`, the thread has ended.
    """

    told = Signal(object)
    drained = Signal()
    ended = Signal(object)
    closed = Signal()

    _job_requested = Signal(object)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._events: deque[Event] = deque()
        self._complete = False
        self._failure: Failure | None = None
        self._thread = QThread(self)
        self._worker = GenerationWorker(self._events)
        self._timer = QTimer(self, interval=TICK_MS)
        self._wire()

    def _wire(self) -> None:
        self._worker.moveToThread(self._thread)
        self._job_requested.connect(
            self._worker.run, Qt.ConnectionType.QueuedConnection
        )
        self._worker.failed.connect(self._on_failed)
        self._worker.finished.connect(self._on_worker_finished)
        self._thread.finished.connect(self._on_thread_finished)
        self._timer.timeout.connect(self._on_tick)
        # One thread for all jobs: the kernels' own threads and the device's context
        # belong to the thread that made them.
        self._thread.setObjectName("generation")
        self._thread.start()

    @property
    def is_complete(self) -> bool:
        """Whether all events are here and the last ones are being handed out."""
        return self._complete

    def begin(self, job: Job) -> None:
        """Do a job; the one before must have ended."""
        self._events.clear()
        self._complete, self._failure = False, None
        self._timer.start(TICK_MS)
        self._job_requested.emit(job)

    def play(self, events: Iterable[Event]) -> None:
        """Hand out recorded events as if they happened now, without the worker."""
        self._events.extend(events)
        self._complete = True
        self._timer.start(TICK_MS)

    def report(self, progress: LoadProgress) -> None:
        """Take what work tells that cannot yield; called in any thread."""
        self._events.append(progress)

    def close(self) -> None:
        """Let the thread end; ``closed`` follows when it has."""
        self._thread.quit()
        if not self._thread.isRunning():
            self.closed.emit()

    def wait(self, milliseconds: int) -> bool:
        """Block until the thread has ended; True if it did in time."""
        return self._thread.wait(milliseconds)

    @Slot()
    def _on_tick(self) -> None:
        started = time.perf_counter()
        spent = 0.0
        while self._events and spent <= TICK_BUDGET_MS:
            self.told.emit(self._events.popleft())
            spent = (time.perf_counter() - started) * 1e3
        self._stretch(spent)
        self.drained.emit()
        if self._complete and not self._events:
            self._end()

    def _stretch(self, spent: float) -> None:
        """Leave the window room to paint when a tick was dear."""
        factor = max(1.0, spent / TICK_BUDGET_MS)
        interval = min(SLOWEST_TICK_MS, int(TICK_MS * factor))
        if interval != self._timer.interval():
            self._timer.setInterval(interval)

    @Slot(object)
    def _on_failed(self, failure: object) -> None:
        assert isinstance(failure, Failure)
        self._failure = failure

    @Slot()
    def _on_worker_finished(self) -> None:
        self._complete = True
        self._on_tick()

    @Slot()
    def _on_thread_finished(self) -> None:
        self.closed.emit()

    def _end(self) -> None:
        self._timer.stop()
        self._complete = False
        failure, self._failure = self._failure, None
        self.ended.emit(failure)
