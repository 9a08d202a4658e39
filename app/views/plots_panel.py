"""All plots of a run, one card each."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QScrollArea

from core.events import Event, Lane


class PlotsPanel(QScrollArea):
    """All plots of a run, one card each.

    Signals:
        round_chosen: lane, round index of a point that was clicked.
    """

    round_chosen = Signal(object, int)

    def on_event(self, event: Event) -> None: ...
    def clear(self) -> None: ...
    def mark_round(self, lane: Lane, round_index: int) -> None: ...
    def restyle(self) -> None: ...
    def export(self, path: str) -> None: ...
