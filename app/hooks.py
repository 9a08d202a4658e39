"""The last net: what nobody caught is logged and shown, in whichever thread it was."""

from __future__ import annotations

import logging
import sys
import threading
from types import TracebackType

from PySide6.QtCore import QObject, Signal

from app.generation_worker import describe_failure

logger = logging.getLogger(__name__)


class ExceptionHook(QObject):
    """Stands in for ``sys.excepthook`` and ``threading.excepthook``.

    Signals:
        caught: the Failure; delivered in the window's thread.
    """

    caught = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._before = (sys.excepthook, threading.excepthook)
        sys.excepthook = self._on_exception
        threading.excepthook = self._on_thread_exception

    def remove(self) -> None:
        """Give the hooks back."""
        sys.excepthook, threading.excepthook = self._before

    def _on_exception(
        self,
        kind: type[BaseException],
        error: BaseException,
        trace: TracebackType | None,
    ) -> None:
        if issubclass(kind, KeyboardInterrupt):
            self._before[0](kind, error, trace)
            return
        logger.critical("not caught", exc_info=(kind, error, trace))
        self.caught.emit(describe_failure(error))

    def _on_thread_exception(self, args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None:
            self._on_exception(args.exc_type, args.exc_value, args.exc_traceback)
