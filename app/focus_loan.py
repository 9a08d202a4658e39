"""Where the keyboard goes while the control that had it is grey."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from PySide6.QtWidgets import QWidget


class FocusLoan:
    """Lends the focus of a control that went grey to the window, and gives it back.

    Qt would pass it to K, where the next arrow key changes what runs.
    """

    def __init__(self, window: QWidget) -> None:
        self._window = window
        self._lender: QWidget | None = None

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Enter around what makes controls grey, or usable again."""
        before = self._window.focusWidget()
        yield
        if before is not None and not before.isEnabled():
            self._lender = before
            self._window.setFocus()
        elif self._lender is not None and self._lender.isEnabled():
            if self._window.focusWidget() in (None, self._window):
                self._lender.setFocus()
            self._lender = None
