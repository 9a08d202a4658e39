"""One round: its proposals, candidates and time."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame

from core.events import RoundFinished


class RoundInspector(QFrame):
    """One round: its proposals, candidates and time.

    Signals:
        place_chosen: the place (from 1; 0 for the token that had none).
    """

    place_chosen = Signal(int)

    def show_round(self, event: RoundFinished, place: int = 0) -> None: ...
    def clear(self) -> None: ...
