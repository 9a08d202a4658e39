"""All plots of a run, one card each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from PySide6.QtCore import QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

from app.theme import Theme, notifier
from app.views.acceptance_by_place import AcceptanceByPlace
from app.views.figure_export import export_figure
from app.views.lookahead_plot import lookahead_plot
from app.views.plot_card import PlotCard
from app.views.plot_export import write_csv
from app.views.predicted_speed import PredictedSpeed
from app.views.round_split import round_split
from app.views.time_per_token import time_per_token
from app.views.tokens_per_round import TokensPerRound
from app.views.tokens_per_second import tokens_per_second
from core.events import Event, Lane, RaceFinished, RunFinished

# One plot is drawn at a time, in turn: all of them at once would hold the window up
# for 30 ms or more, and ten times a second they cost the worker a quarter of its tokens
# where the kernels use every core; so each comes round every two seconds.
REFRESH_MS = 300
NARROWEST = 230
COLUMNS = 2  # of a picture of all plots
SCRUB_MS = 15  # while nothing runs, each plot may follow at once, one a turn


class PlotsPanel(QScrollArea):
    """Shares its height among the cards, and scrolls where they would get too low.

    Signals:
        round_chosen: lane, round index of a point that was clicked.
    """

    round_chosen = Signal(object, int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        sources = (
            time_per_token(),
            AcceptanceByPlace(),
            TokensPerRound(),
            PredictedSpeed(),
            lookahead_plot(),
            tokens_per_second(),
            round_split(),
        )
        self.cards = [PlotCard(source) for source in sources]
        self._next, self._at_once = 0, False
        self._timer = QTimer(self, singleShot=True, interval=REFRESH_MS)
        self._timer.timeout.connect(self._on_refresh_due)
        self._arrange()
        notifier().changed.connect(self._on_theme_changed)

    def _arrange(self) -> None:
        column = self._column = QWidget()
        column.setProperty("bare", True)
        layout = QVBoxLayout(column)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        for card in self.cards:
            card.round_chosen.connect(self.round_chosen)
            layout.addWidget(card, 1)
        self.setWidget(column)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setAccessibleName("Plots")
        self.verticalScrollBar().valueChanged.connect(self._on_scrolled)

    def minimumSizeHint(self) -> QSize:
        """Return a width that cuts no title off, at any size of type."""
        inner = self._column.minimumSizeHint().width()
        bar = self.verticalScrollBar().sizeHint().width()
        return QSize(max(NARROWEST, inner + bar), super().minimumSizeHint().height())

    def on_event(self, event: Event) -> None:
        """Take in one event; pictures follow on a timer."""
        self._timer.setInterval(REFRESH_MS)
        if any([card.on_event(event) for card in self.cards]):
            self._schedule()
        if isinstance(event, RunFinished | RaceFinished):
            self._at_once = True  # nothing is running that it could hold up

    def show_rounds(self, shown: Mapping[Lane, int]) -> None:
        """Show an earlier state of a run that holds or has ended."""
        for card in self.cards:
            card.show_rounds(shown)
        if self._timer.interval() != SCRUB_MS:
            self._timer.stop()
            self._timer.setInterval(SCRUB_MS)
        self._schedule()

    def clear(self) -> None:
        """Forget the run."""
        for card in self.cards:
            card.clear()
        self._schedule()

    def mark_round(self, lane: Lane | None, round_index: int) -> None:
        """Light a round up in every plot; None lights nothing."""
        for card in self.cards:
            card.mark_round(lane, round_index)

    def restyle(self) -> None:
        """Take the current theme's colours."""
        for card in self.cards:
            card.restyle(Theme.current())
        self.updateGeometry()
        self._schedule()

    def export(self, path: str | Path) -> None:
        """Write all plots, seen or not: one picture, or one table of their numbers.

        Raises:
            ValueError: if the ending is none of PNG, SVG and CSV.
            OSError: if the file cannot be written.
        """
        path = Path(path)
        if path.suffix.lower() == ".csv":
            tables = [(card.source.title, card.source.table()) for card in self.cards]
            write_csv(tables, path)
        else:
            export_figure(self.cards, "", path, COLUMNS)

    def refresh(self) -> None:
        """Draw what changed and can be seen."""
        for card in self.cards:
            card.refresh()

    def _schedule(self) -> None:
        if not self._timer.isActive():
            self._timer.start()

    @Slot()
    def _on_refresh_due(self) -> None:
        if not self.isVisible():  # a hidden panel catches up when it is shown
            return
        if self._at_once:
            self._at_once = False
            self.refresh()
        else:
            self._refresh_next()

    def _refresh_next(self) -> None:
        """Draw the next plot in turn that waits, and come again for the others."""
        count = len(self.cards)
        turns = [(self._next + i) % count for i in range(count)]
        waiting = [turn for turn in turns if self.cards[turn].is_waiting]
        if waiting:
            self.cards[waiting[0]].refresh()
            self._next = waiting[0] + 1
        if len(waiting) > 1:
            self._schedule()

    @Slot()
    def _on_scrolled(self) -> None:
        self._schedule()

    @Slot(object)
    def _on_theme_changed(self, _: Theme) -> None:
        self.restyle()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._at_once = True  # or the last plot would stand undrawn for two seconds
        self._schedule()
