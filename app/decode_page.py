"""The Decode page: settings on the left, lanes in the middle, plots on the right."""

from __future__ import annotations

from PySide6.QtCore import QByteArray, QSize, Qt, Slot
from PySide6.QtWidgets import QFrame, QScrollArea, QSplitter, QVBoxLayout, QWidget

from app.panels.banner import BannerArea
from app.panels.decoding_panel import DecodingPanel
from app.panels.fetch_card import FetchCard
from app.panels.load_strip import LoadStrip
from app.panels.pair_panel import PairPanel
from app.panels.parts import MARGIN, Rule, section_title
from app.panels.prompt_panel import PromptPanel
from app.views.lane_view import LaneView
from app.views.legend import Legend
from app.views.plots_panel import PlotsPanel
from app.views.round_inspector import RoundInspector
from app.views.verdict_bar import VerdictBar
from core.events import Event, Lane, RaceStarted, RoundFinished, RunStarted

LEFT_WIDTH = 272
RIGHT_WIDTH = 292
SPACE = 10


class DecodePage(QWidget):
    """Place the panels and views of the Decode page and pass events to the views.

    Signals:
        none.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.pair, self.decoding = PairPanel(), DecodingPanel()
        self.prompt, self.legend = PromptPanel(), Legend()
        self.lanes = {lane: LaneView(lane) for lane in Lane}
        self.verdict, self.inspector = VerdictBar(), RoundInspector()
        self.plots, self.banners, self.strip = PlotsPanel(), BannerArea(), LoadStrip()
        self.fetch, self._racing = FetchCard(), False
        self._rounds: dict[tuple[Lane, int], RoundFinished] = {}
        self._place()
        self._wire()
        self.show_lanes({Lane.SPECULATIVE})

    def on_event(self, event: Event) -> None:
        """Hand an event to every view, and keep rounds for the inspector."""
        if isinstance(event, RaceStarted):
            self._racing = True
            self.show_lanes(set(Lane))
        if isinstance(event, RunStarted):
            self._rounds = {k: r for k, r in self._rounds.items() if k[0] != event.lane}
            if not self._racing:
                self.show_lanes({event.lane})
        if isinstance(event, RoundFinished):
            self._rounds[event.lane, event.round_index] = event
        for view in (*self.lanes.values(), self.verdict, self.plots):
            view.on_event(event)

    def clear(self) -> None:
        """Forget the last run."""
        self._racing = False
        self._rounds.clear()
        views = (*self.lanes.values(), self.verdict, self.plots, self.inspector)
        for view in views:
            view.clear()

    def show_lanes(self, lanes: set[Lane]) -> None:
        """Show these lanes and no other."""
        for each, view in self.lanes.items():
            view.setVisible(each in lanes)

    def show_side(self, left: bool, visible: bool) -> None:
        """Show or hide a side column."""
        (self.left if left else self.plots).setVisible(visible)

    def splitter_states(self) -> dict[str, bytes]:
        """Return the sizes to keep."""
        return {n: bytes(s.saveState().data()) for n, s in self._splitters.items()}

    def restore_splitters(self, states: dict[str, bytes]) -> None:
        """Take back sizes that were kept."""
        for name, state in states.items():
            if name in self._splitters:
                self._splitters[name].restoreState(QByteArray(state))

    # Building ---------------------------------------------------------------------

    def _place(self) -> None:
        self.left = _column(self.pair, self.decoding, self.prompt, self.legend)
        beside, stacked = QSplitter(Qt.Orientation.Horizontal), QSplitter(_VERTICAL)
        for lane in (Lane.SPECULATIVE, Lane.PLAIN):
            self.lanes[lane].setMinimumWidth(220)
            beside.addWidget(self.lanes[lane])
        upper = _stack(beside, self.verdict)
        stacked.addWidget(upper)
        stacked.addWidget(self.inspector)
        stacked.setStretchFactor(0, 3)
        stacked.setStretchFactor(1, 2)
        self.middle = _stack(self.banners, self.strip, self.fetch, stacked)
        self.middle.layout().setContentsMargins(SPACE, SPACE, SPACE, SPACE)
        columns = QSplitter(Qt.Orientation.Horizontal, self)
        for widget in (self.left, self.middle, self.plots):
            columns.addWidget(widget)
        columns.setStretchFactor(1, 1)
        columns.setSizes([LEFT_WIDTH, 720, RIGHT_WIDTH])
        self._splitters = {"columns": columns, "lanes": beside, "rows": stacked}
        for splitter in self._splitters.values():
            splitter.setHandleWidth(SPACE)
            splitter.setChildrenCollapsible(False)
        columns.setHandleWidth(1)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(columns)

    def _wire(self) -> None:
        for view in self.lanes.values():
            view.round_chosen.connect(self._on_round_chosen)
        self.plots.round_chosen.connect(self._on_plot_round_chosen)

    @Slot(object, int, int)
    def _on_round_chosen(self, lane: Lane, round_index: int, place: int) -> None:
        event = self._rounds.get((lane, round_index))
        if event is not None:
            self.inspector.show_round(event, place)
            self.plots.mark_round(lane, round_index)
            self._mark(lane, round_index)

    @Slot(object, int)
    def _on_plot_round_chosen(self, lane: Lane, round_index: int) -> None:
        self._on_round_chosen(lane, round_index, 0)

    def _mark(self, lane: Lane, round_index: int) -> None:
        for each, view in self.lanes.items():
            view.mark_round(round_index if each is lane else None)


class SideColumn(QScrollArea):
    """A column that scrolls up and down and is never narrower than its content."""

    def __init__(self, inner: QWidget) -> None:
        super().__init__(widgetResizable=True)
        self.setObjectName("sideColumn")
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFrameShape(QFrame.Shape.NoFrame)
        inner.setObjectName("sideInner")
        self.setWidget(inner)

    def minimumSizeHint(self) -> QSize:
        inner = self.widget().minimumSizeHint().width()
        bar = self.verticalScrollBar().sizeHint().width()
        return QSize(max(LEFT_WIDTH, inner + bar + 1), 120)


def _column(*panels: QWidget) -> SideColumn:
    inner = QWidget()
    column = QVBoxLayout(inner, spacing=14)
    column.setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)
    for panel in panels:
        if panel is not panels[0]:
            column.addWidget(Rule())
        if panel is panels[-1]:
            column.addWidget(section_title("What the colours mean"))
        column.addWidget(panel)
    column.addStretch(1)
    return SideColumn(inner)


def _stack(*widgets: QWidget) -> QWidget:
    whole = QWidget()
    column = QVBoxLayout(whole, spacing=SPACE)
    column.setContentsMargins(0, 0, 0, 0)
    for widget in widgets:
        column.addWidget(widget, 1 if isinstance(widget, QSplitter) else 0)
    return whole


_VERTICAL = Qt.Orientation.Vertical
