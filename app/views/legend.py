"""What the colours mean, one line each."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget


class Legend(QWidget):
    """What the colours mean, one line each.

    Signals:
        none.
    """

    pass
