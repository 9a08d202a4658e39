"""A lane: its header with the rate, and its tokens."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame

from core.events import Event, Lane


class LaneView(QFrame):
    """A lane: its header with the rate, and its tokens.

    Signals:
        round_chosen: lane, round index, place (0 where none was judged).
    """

    round_chosen = Signal(object, int, int)

    def __init__(self, lane: Lane, parent=None) -> None:
        super().__init__(parent)
        self.lane = lane

    def on_event(self, event: Event) -> None: ...
    def clear(self) -> None: ...
    def set_show_rejected(self, shown: bool) -> None: ...
    def mark_round(self, round_index: int | None) -> None: ...
