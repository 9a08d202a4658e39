"""One round, opened: its proposals, the candidates at a place, its time."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QStackedLayout,
    QVBoxLayout,
    QWidget,
)

from app.theme import Theme, notifier
from app.views.candidate_bars import CandidateBars
from app.views.candidates import candidate_rows
from app.views.elided import ElidedLabel
from app.views.labels import count, milliseconds, round_name
from app.views.places_table import PlacesTable
from app.views.time_bar import TimeBar
from core.events import RoundFinished

SIDES, BETWEEN = 14, 18
EMPTY = "Click a token, or press Enter on it, to open its round here."


def subtitle(event: RoundFinished) -> str:
    """Return how the round went in one line."""
    tokens = f"{count(len(event.tokens), 'token')} in {milliseconds(event.round_ms)}"
    if not event.places:
        return f"nothing proposed · {tokens}"
    return f"{event.counts.accepted} of {event.lookahead} accepted · {tokens}"


def candidates_title(event: RoundFinished, place: int) -> str:
    """Return what the bars show; at temperature 0 that they are unwarped."""
    where = f"Place {place}" if place else "The target"
    return f"{where} · unwarped, T = 0" if event.settings.temperature == 0 else where


class RoundInspector(QFrame):
    """Shows one round at a time; choosing a row changes the bars.

    Signals:
        place_chosen: the place (from 1; 0 for the token that had none).
    """

    place_chosen = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("card", True)
        self._event: RoundFinished | None = None
        self._title = QLabel()
        self._subtitle = ElidedLabel("muted")
        self.table = PlacesTable()
        self._bars_title = ElidedLabel("muted")
        self.bars, self._side = CandidateBars(), QWidget()
        self.time_bar = TimeBar()
        self._arrange()
        self.table.place_chosen.connect(self._on_place_chosen)
        notifier().changed.connect(self._on_theme_changed)
        self.clear()

    def _arrange(self) -> None:
        self._title.setProperty("role", "title")
        empty = QLabel(EMPTY)
        empty.setProperty("role", "muted")
        empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        empty.setWordWrap(True)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(empty)
        self._stack.addWidget(self._content())
        self.setMinimumSize(360, 150)

    def _content(self) -> QWidget:
        top = QHBoxLayout()
        top.setSpacing(10)
        top.addWidget(self._title)
        top.addWidget(self._subtitle, 1)
        middle = QHBoxLayout()
        middle.setSpacing(BETWEEN)
        middle.addWidget(self.table, 2)
        middle.addWidget(self._side, 1)
        self._fill_side()
        content = QWidget(self)
        layout = QVBoxLayout(content)
        layout.setContentsMargins(SIDES, 9, SIDES, 9)
        layout.setSpacing(6)
        layout.addLayout(top)
        layout.addLayout(middle, 1)
        layout.addWidget(self.time_bar)
        return content

    def _fill_side(self) -> None:
        side = QVBoxLayout(self._side)
        side.setContentsMargins(0, 0, 0, 0)
        side.setSpacing(0)
        side.addWidget(self._bars_title)
        side.addWidget(self.bars, 1)

    def _fit(self) -> None:
        """Leave the bars out where they would cut the table's words."""
        room = self.width() - 2 * SIDES - BETWEEN - self.bars.minimumSizeHint().width()
        self._side.setVisible(room >= self.table.least_width())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def show_round(self, event: RoundFinished, place: int = 0) -> None:
        """Open a round at one of its places."""
        self._event = event
        self._title.setText(round_name(event.round_index).capitalize())
        self._subtitle.setText(subtitle(event))
        self.table.show_round(event, place)
        self.time_bar.show_round(event)
        self._show_place(place)
        self._stack.setCurrentIndex(1)
        self.setAccessibleDescription(f"{self._title.text()}: {subtitle(event)}")

    def clear(self) -> None:
        """Close the round and say how to open one."""
        self._event = None
        self._stack.setCurrentIndex(0)
        self.setAccessibleDescription(EMPTY)

    def _show_place(self, place: int) -> None:
        if self._event is not None:
            self._bars_title.setText(candidates_title(self._event, place))
            self.bars.show_rows(candidate_rows(self._event, place))

    @Slot(int)
    def _on_place_chosen(self, place: int) -> None:
        self._show_place(place)
        self.place_chosen.emit(place)

    @Slot(object)
    def _on_theme_changed(self, _: Theme) -> None:
        self._fit()
        self.update()
