"""Asks the model hub, and only when the person asked: search, size, fetch."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, Signal, Slot

from app.errands import Errands
from app.generation_worker import Failure
from app.picks import hub_picks, hub_size
from core.events import LoadProgress

_LEFT: list[Errands] = []


class HubDesk(QObject):
    """A thread of its own for the hub, which may take hours; ended by :meth:`close`.

    Signals:
        found: the picks of a search.
        sized: reference and size for people.
        progressed: the LoadProgress of a transfer.
        fetched: the reference of a model that is here now.
        ended: a transfer was cancelled.
        failed: what was asked (found, size or fetch) and the sentence.
    """

    found = Signal(object)
    sized = Signal(str, str)
    progressed = Signal(object)
    fetched = Signal(str)
    ended = Signal()
    failed = Signal(str, str)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._stop = threading.Event()
        self._errands: Errands | None = None
        self._fetching = ""

    @property
    def fetching(self) -> str:
        """The reference of the model that is being fetched, or an empty string."""
        return self._fetching

    def search(self, text: str, largest: str) -> None:
        """Ask for text generators by a part of their name."""
        self._ask("found", partial(hub_picks, text, largest))

    def ask_size(self, reference: str) -> None:
        """Ask what fetching takes."""
        self._ask("size", lambda stop: (reference, hub_size(reference, stop)))

    def fetch(self, reference: str) -> None:
        """Fetch a model; it is checked and can be resumed."""
        self._fetching = reference
        self._ask("fetch", partial(_fetch, reference, self.progressed.emit))

    @Slot()
    def stop(self) -> None:
        """End whatever is asked or fetched now."""
        self._stop.set()

    def close(self) -> None:
        """End the thread; what has arrived stays."""
        self.stop()
        if self._errands is not None and not self._errands.close():
            # Deleting a thread that runs would end the program: it is left to itself.
            self._errands.setParent(None)
            _LEFT.append(self._errands)

    def _ask(self, key: str, question: Callable[..., Any]) -> None:
        self._stop.set()  # an older question is void
        self._stop = threading.Event()
        if self._errands is None:
            self._errands = Errands(self)
            self._errands.answered.connect(self._on_answered)
            self._errands.failed.connect(self._on_failed)
        self._errands.ask(key, partial(_unless_stopped, question, self._stop.is_set))

    @Slot(str, object)
    def _on_answered(self, key: str, value: Any) -> None:
        if key == "fetch":
            reference, self._fetching = self._fetching, ""
            if value is None:
                self.ended.emit()
            else:
                self.fetched.emit(reference)
        elif value is not None and key == "size":
            self.sized.emit(*value)
        elif value is not None:
            self.found.emit(value)

    @Slot(str, object)
    def _on_failed(self, key: str, failure: Failure) -> None:
        if key == "fetch":
            self._fetching = ""
        self.failed.emit(key, failure.sentence)


def _unless_stopped(
    question: Callable[..., Any], should_stop: Callable[[], bool]
) -> Any:
    """Return the answer; None if the person ended it."""
    from core.checkpoints.progress import Cancelled

    try:
        return question(should_stop)
    except Cancelled:
        return None


def _fetch(
    reference: str,
    on_progress: Callable[[LoadProgress], None],
    should_stop: Callable[[], bool],
) -> bool:
    from core.checkpoints.hub import download_checkpoint
    from core.checkpoints.progress import Work

    download_checkpoint(reference, Work(on_progress, should_stop))
    return True
