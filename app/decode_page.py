"""The Decode page: settings on the left, lanes in the middle, plots on the right."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray, QSize, Qt, Slot
from PySide6.QtWidgets import QFrame, QScrollArea, QSplitter, QWidget

from app.event_log import light
from app.panels.banner import BannerArea
from app.panels.decoding_panel import DecodingPanel
from app.panels.fetch_card import FetchCard
from app.panels.load_strip import LoadStrip
from app.panels.pair_panel import PairPanel
from app.panels.parts import MARGIN, Rule, column_in, section_title
from app.panels.prompt_panel import PromptPanel
from app.replay import Replay
from app.views.lane_view import LaneView
from app.views.legend import Legend
from app.views.round_inspector import RoundInspector
from app.views.scrub_bar import ScrubBar
from app.views.verdict_bar import VerdictBar
from core.events import Event, Lane, RaceStarted, RoundFinished, RunStarted, Verdict

if TYPE_CHECKING:
    from app.views.plots_panel import PlotsPanel

RecallRound = Callable[[Lane, int], RoundFinished | None]
LEFT_WIDTH = 316
RIGHT_WIDTH = 304
NARROWEST = 264
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
        self.banners, self.strip, self.right = BannerArea(), LoadStrip(), QWidget()
        self.plots: PlotsPanel | None = None
        self.fetch, self._racing = FetchCard(), False
        self._shown: tuple[Lane, int] | None = None
        self._chosen = False  # by the person, not by a step or the end
        self._rounds: dict[tuple[Lane, int], RoundFinished] = {}
        self._recall: RecallRound = self._kept_round
        self.scrub_bar = ScrubBar()
        self.replay = Replay(self.scrub_bar, self)
        self._place()
        self._wire()
        self.show_lanes({Lane.SPECULATIVE})

    def add_plots(self) -> None:
        """Build the plots; their library is slow to import: the window goes first."""
        from app.views.plots_panel import PlotsPanel

        self.plots = PlotsPanel()
        self.plots.round_chosen.connect(self._on_plot_round_chosen)
        self._beside_plots.addWidget(self.plots)

    @Slot(str)
    def export_plots(self, path: str) -> None:
        """Write the plots to a file; a banner tells whether they could be."""
        if self.plots is None:
            return
        name = Path(path).name
        try:
            self.plots.export(path)
        except OSError:
            self.banners.show_error(f"Cannot write {name}; choose another folder.")
        except ValueError as error:
            self.banners.show_error(str(error))
        else:
            self.banners.show_note(f"{name} is written.")

    def on_event(self, event: Event) -> None:
        """Hand an event to every view, and keep rounds for the inspector."""
        if isinstance(event, RaceStarted):
            self._racing = True
            self.show_lanes(set(Lane))
        if isinstance(event, RunStarted):
            self._rounds = {k: r for k, r in self._rounds.items() if k[0] != event.lane}
            self._shown, self._chosen = None, False
            if not self._racing:
                self.show_lanes({event.lane})
        if isinstance(event, RoundFinished):
            event = light(event)  # the candidates are recalled when they are looked at
            self._rounds[event.lane, event.round_index] = event
        self.replay.on_event(event)
        for view in self._watching():
            view.on_event(event)

    def set_recall(self, recall: RecallRound) -> None:
        """Tell where a round's candidates are kept."""
        self._recall = recall
        for lane in self.lanes.values():
            lane.tokens.recall = self._whole_round

    def show_latest_round(self, *, unless_chosen: bool = False) -> None:
        """Open the newest round in the inspector: after a step, and at the end."""
        if not self._rounds or (unless_chosen and self._chosen):
            return
        speculative = [k for k in self._rounds if k[0] is Lane.SPECULATIVE]
        self._open(*(speculative or list(self._rounds))[-1])

    def scrub(self, by: int) -> None:
        """Go to the round ``by`` further on than the one that shows, of its lane."""
        if self._shown is None:
            self.show_latest_round()
            return
        lane, round_index = self._shown
        position = self.replay.timeline.position_of(lane, round_index + by)
        if position is not None:
            self.replay.hold()
            self.replay.go_to(position)
            self._open(lane, round_index + by)

    @Slot(int)
    def _on_moved(self, position: int) -> None:
        """Let the views show the run as it was at a position."""
        counts = self.replay.timeline.counts(position)
        for lane, count in counts.items():
            last = self._rounds.get((lane, count - 1))
            self.lanes[lane].show_rounds(count, last)
        if self.plots is not None:
            self.plots.show_rounds(counts)
        self._chosen = True
        lane = Lane.SPECULATIVE if Lane.SPECULATIVE in counts else Lane.PLAIN
        if counts.get(lane):
            self._open(lane, counts[lane] - 1)
        else:
            self._close_round()

    def _open(self, lane: Lane, round_index: int) -> None:
        event = self._rounds.get((lane, round_index))
        if event is not None:
            self._open_round(lane, round_index, _telling_place(event))

    def _close_round(self) -> None:
        self._shown = None
        self.inspector.clear()
        self._mark(None, 0)

    def _kept_round(self, lane: Lane, round_index: int) -> RoundFinished | None:
        return self._rounds.get((lane, round_index))

    def _whole_round(self, event: RoundFinished) -> RoundFinished | None:
        return self._recall(event.lane, event.round_index)

    def clear(self) -> None:
        """Forget the last run."""
        self._racing, self._shown, self._chosen = False, None, False
        self._rounds.clear()
        self.replay.clear()
        for view in (*self._watching(), self.inspector):
            view.clear()

    def show_lanes(self, lanes: set[Lane]) -> None:
        """Show these lanes and no other."""
        for each, view in self.lanes.items():
            view.setVisible(each in lanes)

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
            beside.addWidget(self.lanes[lane])
        upper = _stack(beside, self.scrub_bar, self.verdict)
        stacked.addWidget(upper)
        stacked.addWidget(self.inspector)
        stacked.setStretchFactor(0, 3)
        stacked.setStretchFactor(1, 2)
        self.middle = _stack(self.banners, self.strip, self.fetch, stacked)
        self.middle.setContentsMargins(SPACE, SPACE, SPACE, SPACE)
        columns = QSplitter(Qt.Orientation.Horizontal, self)
        self._beside_plots = column_in(self.right, margins=(0, SPACE, 4, SPACE))
        for widget in (self.left, self.middle, self.right):
            columns.addWidget(widget)
        columns.setStretchFactor(1, 1)
        columns.setSizes([LEFT_WIDTH, 720, RIGHT_WIDTH])
        self._splitters = {"columns": columns, "lanes": beside, "rows": stacked}
        for splitter in self._splitters.values():
            splitter.setHandleWidth(SPACE)
            splitter.setChildrenCollapsible(False)
        columns.setHandleWidth(1)
        whole = column_in(self)
        whole.addWidget(columns)

    def _wire(self) -> None:
        for view in self.lanes.values():
            view.round_chosen.connect(self._on_round_chosen)
        self.replay.moved.connect(self._on_moved)

    def _watching(self) -> list[LaneView | VerdictBar | PlotsPanel]:
        """Return the views that take every event."""
        plots = [self.plots] if self.plots is not None else []
        return [*self.lanes.values(), self.verdict, *plots]

    @Slot(object, int, int)
    def _on_round_chosen(self, lane: Lane, round_index: int, place: int) -> None:
        self._chosen = True
        self._open_round(lane, round_index, place)

    @Slot(object, int)
    def _on_plot_round_chosen(self, lane: Lane, round_index: int) -> None:
        self._chosen = True
        self._open(lane, round_index)

    def _open_round(self, lane: Lane, round_index: int, place: int) -> None:
        event = self._rounds.get((lane, round_index))
        if event is None:
            return
        self._shown = (lane, round_index)
        self.inspector.show_round(self._recall(lane, round_index) or event, place)
        self._mark(lane, round_index)

    def _mark(self, lane: Lane | None, round_index: int) -> None:
        if self.plots is not None:
            self.plots.mark_round(lane, round_index)
        for each, view in self.lanes.items():
            view.mark_round(round_index if each is lane else None)


def _telling_place(event: RoundFinished) -> int:
    """Return the place that says most: the last that was judged; 0 for none."""
    judged = [p.index for p in event.places if p.verdict is not Verdict.DISCARDED]
    return judged[-1] if judged else 0


class SideColumn(QScrollArea):
    """A column that scrolls up and down and is never narrower than its content."""

    def __init__(self, inner: QWidget) -> None:
        super().__init__(widgetResizable=True)
        self.setObjectName("sideColumn")
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # it follows the control in focus
        self._inner = inner
        inner.setObjectName("sideInner")
        self.setWidget(inner)

    def minimumSizeHint(self) -> QSize:
        inner = self._inner.minimumSizeHint().width()
        bar = self.verticalScrollBar().sizeHint().width()
        return QSize(max(NARROWEST, inner + bar + 1), 120)


def _column(*panels: QWidget) -> SideColumn:
    inner = QWidget()
    column = column_in(inner, spacing=14, margins=(MARGIN, MARGIN, MARGIN, MARGIN))
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
    column = column_in(whole, spacing=SPACE)
    for widget in widgets:
        column.addWidget(widget, 1 if isinstance(widget, QSplitter) else 0)
    return whole


_VERTICAL = Qt.Orientation.Vertical
