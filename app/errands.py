"""Small questions that touch the disk or the core, answered off the window's thread.

A folder is inspected, a prompt is tokenized, a trace is written: none of it may hold up
the window, and none of it belongs in the queue behind a running generation. There are
two queues, since importing torch takes many seconds on a busy machine, and a recording
that is opened meanwhile must not wait for that.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import (
    QDeadlineTimer,
    QObject,
    Qt,
    QThread,
    Signal,
    SignalInstance,
    Slot,
)

from app.generation_worker import Failure, describe_failure
from core.errors import CoreError

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Errand:
    key: str
    number: int
    function: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class _Result:
    key: str
    number: int
    value: Any


class ErrandWorker(QObject):
    """Do one errand after the other.

    Signals:
        done: a _Result; its value is a Failure where the errand failed.
    """

    done = Signal(object)

    @Slot(object)
    def do(self, errand: _Errand) -> None:
        """Call the function; a failure is an answer too."""
        try:
            value = errand.function()
        except CoreError as error:
            value = describe_failure(error)
        except Exception as error:
            logger.exception("errand %s failed", errand.key)
            value = describe_failure(error)
        self.done.emit(_Result(errand.key, errand.number, value))


class Errands(QObject):
    """Ask questions by key; only the answer to the newest question counts.

    Questions of one weight are answered in the order in which they are asked.

    Signals:
        answered: key and value.
        failed: key and Failure.
    """

    answered = Signal(str, object)
    failed = Signal(str, object)

    _asked, _asked_light = Signal(object), Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._newest: dict[str, int] = {}
        self._lines = [
            self._new_line("errands", self._asked),
            self._new_line("light errands", self._asked_light),
        ]

    def _new_line(
        self, name: str, asked: SignalInstance
    ) -> tuple[QThread, ErrandWorker]:
        thread, worker = QThread(self), ErrandWorker()
        thread.setObjectName(name)
        worker.moveToThread(thread)
        asked.connect(worker.do, Qt.ConnectionType.QueuedConnection)
        worker.done.connect(self._on_done)
        thread.start()
        return thread, worker

    def ask(
        self, key: str, function: Callable[[], Any], *, light: bool = False
    ) -> None:
        """Call ``function`` in the background; an older question of ``key`` is void.

        Args:
            key: names the question in its answer.
            function: answers it.
            light: it never imports torch, so it need not wait behind what does.
        """
        number = self._newest.get(key, 0) + 1
        self._newest[key] = number
        asked = self._asked_light if light else self._asked
        asked.emit(_Errand(key, number, function))

    def close(self, milliseconds: int = 3000) -> bool:
        """End the threads after the errands at hand; True if they did in time."""
        deadline = QDeadlineTimer(milliseconds)  # one for both threads
        for thread, _ in self._lines:
            thread.quit()
        return all([thread.wait(deadline) for thread, _ in self._lines])

    @Slot(object)
    def _on_done(self, result: _Result) -> None:
        if self._newest.get(result.key) != result.number:
            return
        if isinstance(result.value, Failure):
            self.failed.emit(result.key, result.value)
        else:
            self.answered.emit(result.key, result.value)
