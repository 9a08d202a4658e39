"""The frame of a plot: heading, unit, key, empty word, menu, mark."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import cast

import pyqtgraph as pg
from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QContextMenuEvent, QFontMetrics, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QFrame, QLabel, QVBoxLayout, QWidget

from app.fonts import text_font
from app.theme import Theme
from app.views.elided import ElidedLabel
from app.views.plot_export import export_plot
from app.views.plot_menu import plot_menu
from app.views.plot_source import Advising, PlotSource, Rewindable
from core.events import Event, Lane

LEFT_AXIS = 56
SIDES, GAP = 8 + 6, 10  # around the heading; between title and key


class PlotCard(QFrame):
    """Draws one source; gathers at once, draws only when asked and seen.

    Signals:
        round_chosen: lane, round index of a point that was clicked.
    """

    round_chosen = Signal(object, int)

    def __init__(self, source: PlotSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("card", True)
        self.source = source
        self._stale = True
        self._words: tuple[bool, str] | None = None
        self.plot = pg.PlotWidget(enableMenu=False)
        self._item = cast(pg.PlotItem, self.plot.getPlotItem())
        self._title = QLabel(source.title)
        self._key = QLabel()
        self._empty = QLabel(source.empty, self.plot)
        self._advice = ElidedLabel("muted")
        self._arrange()
        self._configure_plot()
        source.attach(self._item)
        self.restyle(Theme.current())

    def _arrange(self) -> None:
        self._title.setProperty("role", "title")
        self._key.setProperty("role", "muted")
        self._key.setTextFormat(Qt.TextFormat.RichText)
        self._key.setMinimumWidth(1)  # a long key is cut, it does not widen the card
        self._empty.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._empty.setProperty("role", "muted")
        self._empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._empty.setWordWrap(True)
        self._top = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._top.setContentsMargins(6, 0, 4, 0)
        self._top.setSpacing(0)
        self._top.addWidget(self._title)
        self._top.addWidget(self._key, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 6, 8, 4)
        layout.setSpacing(2)
        layout.addLayout(self._top)
        layout.addWidget(self.plot, 1)
        layout.addWidget(self._advice)
        self._advice.set_lines(2)
        self._advice.setContentsMargins(6, 0, 4, 2)
        self._advice.setVisible(isinstance(self.source, Advising))  # a room of its own
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(self.source.title)

    def _configure_plot(self) -> None:
        item = self._item
        item.hideButtons()
        item.getViewBox().setMouseEnabled(False, False)
        item.getViewBox().disableAutoRange()
        item.setLabel("bottom", self.source.across)
        item.setLabel("left", self.source.unit)
        item.showGrid(y=True, alpha=0.25)
        for side in ("left", "bottom"):
            item.getAxis(side).enableAutoSIPrefix(False)
            item.getAxis(side).setStyle(showValues=False)  # until there are some
        self.plot.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.plot.setFrameShape(QFrame.Shape.NoFrame)
        self.plot.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)
        cast(pg.GraphicsScene, self.plot.scene()).sigMouseClicked.connect(
            self._on_clicked
        )

    def on_event(self, event: Event) -> bool:
        """Take in an event; return whether the picture is stale now."""
        self._stale = self.source.on_event(event) or self._stale
        return self._stale

    def clear(self) -> None:
        """Forget everything."""
        self.source.clear()
        self.mark_round(None, 0)
        self._stale = True

    def show_rounds(self, shown: Mapping[Lane, int]) -> None:
        """Show an earlier state of the run, where the plot has one."""
        if isinstance(self.source, Rewindable):
            self.source.show_rounds(shown)
            self._stale = True

    @property
    def is_waiting(self) -> bool:
        """Whether something changed that is not drawn yet and could be seen."""
        return self._stale and not self.visibleRegion().isEmpty()

    def refresh(self) -> bool:
        """Draw if anything changed and anybody looks; return whether it is drawn."""
        if not self._stale:
            return True
        if self.visibleRegion().isEmpty():
            return False
        self.draw()
        return True

    def draw(self) -> None:
        """Draw now, seen or not: in a file, too, an axis has its numbers."""
        self._stale = False
        self.source.draw()
        self._key.setText(self.source.key(Theme.current()))
        self._fit()
        self._show_words()
        self.setAccessibleDescription(self.source.summary())

    def _fit(self) -> None:
        """Put the key under the title where it would be cut beside it."""
        room = self.width() - 2 * SIDES
        wide = self._title.sizeHint().width() + GAP + self._key.sizeHint().width()
        below = bool(self._key.text()) and wide > room
        box, side = QBoxLayout.Direction, Qt.AlignmentFlag
        self._top.setDirection(box.TopToBottom if below else box.LeftToRight)
        self._key.setAlignment(side.AlignLeft if below else _RIGHT)
        line = QFontMetrics(text_font("small")).height()
        # The words, and 60 px of picture.
        lines = 5 + below + 2 * self._advice.isVisibleTo(self)
        self.setMinimumHeight(max(120, lines * line + 50))

    def _show_words(self) -> None:
        if isinstance(self.source, Advising):
            self._advice.setText(self.source.advice())
        empty, note = self.source.is_empty(), self.source.note()
        if (empty, note) == self._words:
            return  # setting an axis' style or label draws all of its ticks anew
        self._words = empty, note
        self._empty.setVisible(empty)
        across = " · ".join(filter(None, [self.source.across, note]))
        shown = QFontMetrics(text_font("small")).elidedText(
            across, Qt.TextElideMode.ElideRight, self.plot.width() - LEFT_AXIS
        )
        self._item.setLabel("bottom", shown)
        self.setToolTip("" if shown == across else note)
        self._item.getAxis("bottom").resizeEvent()  # or the words stay off centre
        for side in ("left", "bottom"):  # numbers on an empty axis would be invented
            self._item.getAxis(side).setStyle(showValues=not empty)

    def mark_round(self, lane: Lane | None, round_index: int) -> None:
        """Light a round up; None lights nothing."""
        self.source.mark_round(lane, round_index)

    def restyle(self, theme: Theme) -> None:
        """Take the theme's colours and the scale's fonts."""
        self.plot.setBackground(theme.color("surface"))
        for side in ("left", "bottom"):
            axis = self._item.getAxis(side)
            axis.setPen(theme.color("grid"))
            axis.setTextPen(theme.color("muted"))
            axis.setTickFont(text_font("small"))
            axis.label.setFont(text_font("small"))
            axis.setStyle(tickLength=-3, tickTextOffset=3)
        height = QFontMetrics(text_font("small")).height()
        self._item.getAxis("bottom").setHeight(2 * height + 4)
        numbers = QFontMetrics(text_font("small")).horizontalAdvance("100") + 8
        self._item.getAxis("left").setWidth(height + max(30, numbers))
        self.source.restyle(theme)
        self._place_empty()
        self._key.setText(self.source.key(theme))
        self._fit()
        self._stale = True

    def export(self, path: str | Path) -> None:
        """Write the plot as PNG, SVG or CSV."""
        self.draw()
        source, key = self.source, self.source.key(Theme.current())
        export_plot(self.plot, source.table(), source.title, key, path)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        plot_menu(self).exec(event.globalPos())

    def _place_empty(self) -> None:
        """Keep the word in an empty plot off the axes, at any size of type."""
        left = round(self._item.getAxis("left").minimumWidth()) + 4
        below = round(self._item.getAxis("bottom").minimumHeight())
        self._empty.setGeometry(self.plot.rect().adjusted(left, 0, -4, -below))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_empty()
        if event.size().width() != event.oldSize().width():
            self._fit()

    @Slot(object)
    def _on_clicked(self, event: object) -> None:
        box = self._item.getViewBox()
        place = box.mapSceneToView(event.scenePos())  # type: ignore[attr-defined]
        found = self.source.round_at(place.x())
        if found is not None:
            self.round_chosen.emit(*found)


_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
