"""The three panels of Figure 1, side by side or one below the other."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QTimer, Slot
from PySide6.QtGui import QFontMetrics, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QGridLayout, QWidget

from app.fonts import text_font
from app.theme import Theme, notifier
from app.views.figure_export import export_figure
from app.views.figure_plot import PARTS, FigurePlot
from app.views.plot_card import PlotCard
from core.lab.figure_one import FigureCurve

DRAW_MS = 60
LINES = 15  # of small type: the height of a panel
LETTERS = 42  # of small type: a panel narrower than them takes a row of its own


class FigureCards(QWidget):
    """Draws soon after something changed, and only what can be seen.

    Signals:
        none.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("bare", True)
        self.sources = [FigurePlot(part) for part in PARTS]
        self.cards = [PlotCard(source) for source in self.sources]
        for card in self.cards:
            card.setAccessibleName(f"Figure 1: {card.source.title}, {card.source.unit}")
        self._grid, self._columns = QGridLayout(self), 0
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(8)
        self._timer = QTimer(self, singleShot=True, interval=DRAW_MS)
        self._timer.timeout.connect(self._on_due)
        notifier().changed.connect(self._on_theme_changed)
        self._on_theme_changed(Theme.current())
        self._arrange(len(self.cards))

    def show_curves(self, curves: tuple[FigureCurve, ...], paper: bool) -> None:
        """Show other curves, with or without the paper's."""
        for source, card in zip(self.sources, self.cards, strict=True):
            source.show(curves, paper)
            card.restyle(Theme.current())  # marks it as stale
        self.draw_soon()

    def export(self, path: Path, heading: str) -> None:
        """Write the figure as PNG or SVG.

        Raises:
            ValueError: if the ending is another one.
            OSError: if the file cannot be written.
        """
        export_figure(self.cards, heading, path, len(self.cards))

    @Slot()
    def draw_soon(self) -> None:
        """Draw what waits and can be seen, in a moment."""
        self._timer.start()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        letter = QFontMetrics(text_font("small")).averageCharWidth()
        fits = self.width() >= len(self.cards) * LETTERS * letter
        self._arrange(len(self.cards) if fits else 1)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.draw_soon()

    def _arrange(self, columns: int) -> None:
        if columns == self._columns:
            return
        self._columns = columns
        for i, card in enumerate(self.cards):
            self._grid.removeWidget(card)
            self._grid.addWidget(card, i // columns, i % columns)
        self.draw_soon()

    @Slot()
    def _on_due(self) -> None:
        for card in self.cards:
            card.refresh()

    @Slot(object)
    def _on_theme_changed(self, theme: Theme) -> None:
        for card in self.cards:
            card.restyle(theme)
            card.setFixedHeight(LINES * QFontMetrics(text_font("small")).height())
        self.draw_soon()
