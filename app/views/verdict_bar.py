"""What a race says, in one number and two lines."""

from __future__ import annotations

from PySide6.QtWidgets import QFrame

from core.events import Event


class VerdictBar(QFrame):
    """What a race says, in one number and two lines.

    Signals:
        none.
    """

    def on_event(self, event: Event) -> None: ...
    def clear(self) -> None: ...
    def set_badge(self, text: str) -> None: ...
