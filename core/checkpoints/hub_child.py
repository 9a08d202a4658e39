"""The child process that talks to the model hub: its pipe, its end, its patience."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, TypeVar

Result = TypeVar("Result")
_BUSY = (408, 429, 500, 502, 503, 504)
_LONGEST_WAIT = 30.0  # a hub that asks for more is told so to the person
_TELL_SECONDS = 0.1


class Line:
    """The child's end of the pipe: what it tells the program, and its consent."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._told, self.done = 0.0, 0

    def tell(self, kind: str, *values: Any) -> None:
        """Send one message."""
        self._pipe.send((kind, *values))

    def consent(self) -> None:
        """Wait until the program says that fetching may begin."""
        self._pipe.recv()

    def add_bytes(self, number: int) -> None:
        """Count bytes that arrived; told ten times a second."""
        self.done += number
        if time.monotonic() - self._told > _TELL_SECONDS:
            self._told = time.monotonic()
            self.tell("bytes", self.done)


def end_with_parent() -> None:
    """End this process when the program dies, also by a kill that nothing can catch."""
    from multiprocessing import parent_process

    parent = parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def serve(
    work: Callable[..., Any], pipe: Connection, arguments: tuple[Any, ...]
) -> None:
    """Run ``work(line, *arguments)`` and send what it returns or raises."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # where masks are not inherited
    end_with_parent()
    line = Line(pipe)
    try:
        line.tell("done", work(line, *arguments))
    except Exception as error:  # becomes a sentence on the other side
        line.tell("failed", _kinds(error), _status(error), str(error))


def patiently(
    line: Line, call: Callable[[], Result], pauses: tuple[float, ...]
) -> Result:
    """Call again after each pause while the hub is busy or the network is gone.

    Bytes that arrive between two failures begin the pauses anew.
    """
    left, before = list(pauses), line.done
    while True:
        try:
            return call()
        except Exception as error:
            if not _passes(error):
                raise
            if line.done > before:
                left, before = list(pauses), line.done
            wait = _wished_wait(error) or (left[0] if left else 0.0)
            if not left or wait > _LONGEST_WAIT:
                raise
            left.pop(0)
            line.tell("waiting", wait)
            time.sleep(wait)


def _passes(error: Exception) -> bool:
    """Return whether the same question may succeed a little later."""
    if _status(error) is not None:
        return _status(error) in _BUSY
    return bool({"TransportError", "ConnectionError"} & set(_kinds(error)))


def _wished_wait(error: Exception) -> float:
    """Return the seconds that the hub asks to wait, or 0."""
    headers = getattr(getattr(error, "response", None), "headers", {})
    wish = str(headers.get("Retry-After", ""))
    return float(wish) if wish.isdecimal() else 0.0


def _status(error: Exception) -> int | None:
    return getattr(getattr(error, "response", None), "status_code", None)


def _kinds(error: Exception) -> list[str]:
    """Return the names of an error's classes: the hub library changed its HTTP client.

    Its errors are network errors of one client or of the other by the same names.
    """
    names = [kind.__name__ for kind in type(error).__mro__]
    number = getattr(error, "errno", None)
    return [*names, f"errno {number}"] if number else names
