"""The Present page: a race for an audience, in large type."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QComboBox, QLabel, QPushButton, QWidget

from app.fonts import STAGE, enlarged, point_size, text_font
from app.panels.parts import Badge, column_in, row_in
from app.player import Player
from app.take import Take
from app.theme import Theme, notifier
from app.views import stage_words as words
from app.views.announce import announce
from app.views.elided import ElidedLabel
from app.views.stage_lane import StageLane
from core.events import (
    Event,
    Lane,
    RaceFinished,
    RaceStarted,
    RepeatFinished,
    RunStarted,
)

COUNT_FROM, COUNT_MS = 3, 900
WIDEST = "Start "
ROOM = QSize(1200, 600)  # a stage of this size has type of size 1
LEAST, MOST = 0.8, 3.0
BODY_POINTS = 10.0  # the stage's type follows the stage, not the window's own type


class PresentPage(QWidget):
    """Plays a take at true speed from its clocks, or shows a race as it happens.

    Signals:
        source_chosen: one of SOURCES.
        start_asked: the button or Space; the countdown begins.
        go: the countdown is over.
        leave_asked: the button.
        full_screen_asked: the button.
    """

    source_chosen = Signal(str)
    start_asked = Signal()
    go = Signal()
    leave_asked = Signal()
    full_screen_asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.lanes = {lane: StageLane(lane) for lane in Lane}
        self._heading, self._words, self.badge = ElidedLabel(), QLabel(), Badge()
        self.start, self.source = QPushButton("Start"), QComboBox()
        self.full, self.leave = QPushButton("Full screen"), QPushButton("Leave")
        self._countdown = QLabel(self)
        self._left, self._repeats = 0, 0  # numbers still to be counted; races to come
        self._live = False
        self._role, self._factor = "muted", 1.0
        self._ticker = QTimer(self, interval=COUNT_MS)
        self._player = Player(self)
        self._take: Take | None = None
        self._next = 0
        self._place()
        self._configure()
        self._wire()
        self.clear()
        self._fit()

    # What the desk asks for -------------------------------------------------------

    def clear(self, heading: str = words.HEADING) -> None:
        """Empty the stage."""
        self.stop()
        for lane in self.lanes.values():
            lane.clear()
        self._heading.setText(heading)
        self._tell("muted", words.READY)

    def offer_sources(self, usable: dict[str, bool], chosen: str) -> None:
        """Offer what can be shown now."""
        self.source.blockSignals(True)
        self.source.clear()
        for name, possible in usable.items():
            self.source.addItem(words.SOURCES[name], name)
            item = self.source.model().item(self.source.count() - 1)  # type: ignore[attr-defined]
            item.setEnabled(possible)
        self.source.setCurrentIndex(self.source.findData(chosen))
        self.source.blockSignals(False)

    def chosen_source(self) -> str:
        """Return one of SOURCES."""
        return self.source.currentData()

    def show_badge(self, word: str, role: str, explanation: str) -> None:
        """Say how the numbers came about."""
        self.badge.show_word(word, role, explanation)

    def count_down(self) -> None:
        """Count three, two, one; ``go`` follows."""
        self._left = COUNT_FROM
        self._tell("muted", words.COMING)
        self._show_count()
        self._ticker.start()
        self._offer()

    def play(self, take: Take) -> None:
        """Play a take at the speed at which it happened."""
        self._take, self._next = take, 0
        for event in take.started.values():
            self._show(event)
        self._player.set_clock(0.0)
        self._player.start()
        self._offer()

    def stop(self) -> None:
        """Stop counting and playing; what is on the stage stays."""
        self._ticker.stop()
        self._player.stop()
        self._countdown.hide()
        self._take, self._left = None, 0
        self._offer()

    @property
    def is_playing(self) -> bool:
        """Whether it counts down or plays."""
        return self._ticker.isActive() or self._player.is_running

    def set_live(self, live: bool) -> None:
        """Note whether a race goes on that is shown as it happens."""
        self._live = live
        self._offer()

    def show_live(self, event: Event) -> None:
        """Show a race as it happens."""
        self._show(event)

    def show_failure(self, sentence: str) -> None:
        """Say why there is no race to see."""
        self.stop()
        self._tell("error", sentence)

    # The stage --------------------------------------------------------------------

    def _show(self, event: Event) -> None:
        match event:
            case RaceStarted(repeats=repeats):
                self._repeats = repeats
            case RunStarted(lane=Lane.SPECULATIVE):
                self._heading.setText(words.heading(event))
                live = words.repeat(event, self._repeats)
                self._tell("muted", words.TRUE_SPEED if self._take else live)
            case RepeatFinished():
                self._tell("muted", words.repeat_gave(event))
            case RaceFinished():
                self._tell(*words.verdict(event))
            case _:
                pass
        for lane in self.lanes.values():
            lane.on_event(event)

    @Slot(float)
    def _on_ticked(self, clock_ms: float) -> None:
        take = self._take
        if take is None:
            return
        while self._next < len(take.rounds):
            event = take.rounds[self._next]
            if event.clock_ms > clock_ms:
                return
            self._next += 1
            self._show(event)
            self._end_lane(take, event.lane)
        if take.race is not None:
            self._show(take.race)
        self.stop()

    def _end_lane(self, take: Take, lane: Lane) -> None:
        """Let a lane say that it ended once its last round was shown."""
        rest = take.rounds[self._next :]
        if all(event.lane is not lane for event in rest):
            self._show(take.finished[lane])

    @Slot()
    def _on_count_due(self) -> None:
        self._left -= 1
        if self._left > 0:
            self._show_count()
            return
        self.stop()
        self.go.emit()

    def _show_count(self) -> None:
        self._countdown.setText(str(self._left))
        self._countdown.show()
        self._countdown.raise_()
        announce(self._countdown, str(self._left))

    def _tell(self, role: str, sentence: str) -> None:
        self._role = role
        self._words.setText(sentence)
        announce(self._words, sentence)
        self._dress_words(Theme.current())

    def _offer(self) -> None:
        going = self.is_playing or self._live
        self.start.setText("Stop" if going else "Start")
        self.source.setEnabled(not going)

    # Building ---------------------------------------------------------------------

    def _place(self) -> None:
        top = row_in(spacing=14)
        top.addWidget(self._heading, 1)
        top.addWidget(self.badge)
        both = row_in(spacing=16)
        for lane in (Lane.SPECULATIVE, Lane.PLAIN):
            both.addWidget(self.lanes[lane], 1)
        below = row_in(spacing=10)
        below.addWidget(self.start)
        below.addWidget(self.source)
        below.addStretch(1)
        below.addWidget(self.full)
        below.addWidget(self.leave)
        column = column_in(self, spacing=12, margins=(24, 16, 24, 16))
        column.addLayout(top)
        column.addLayout(both, 1)
        column.addWidget(self._words)
        column.addLayout(below)

    def _configure(self) -> None:
        self.start.setProperty("primary", True)
        self.start.setToolTip("Count down and begin, or stop (Space)")
        self.full.setToolTip("Use the whole screen (F11)")
        self.leave.setToolTip("Back to the Decode page (Esc)")
        self.source.setAccessibleName("What is shown")
        self._words.setWordWrap(True)
        self._words.setTextFormat(Qt.TextFormat.PlainText)
        self._words.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._words.setAccessibleName("Verdict")
        self._countdown.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._countdown.setAccessibleName("Countdown")
        self._countdown.hide()
        self.badge.hide()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def _wire(self) -> None:
        self.start.clicked.connect(self.start_asked)
        self.full.clicked.connect(self.full_screen_asked)
        self.leave.clicked.connect(self.leave_asked)
        self.source.currentIndexChanged.connect(self._on_source_chosen)
        self._ticker.timeout.connect(self._on_count_due)
        self._player.ticked.connect(self._on_ticked)
        notifier().changed.connect(self._on_theme_changed)

    @Slot()
    def _on_source_chosen(self) -> None:
        self.source_chosen.emit(self.chosen_source())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Space and not event.isAutoRepeat():
            self.start_asked.emit()
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Let type grow with the stage, and keep room for two lines of verdict."""
        share = min(self.width() / ROOM.width(), self.height() / ROOM.height())
        factor = max(LEAST, min(MOST, share)) * BODY_POINTS / point_size("body")
        self._factor = round(factor, 1)  # not at every pixel: laying text out is dear
        for lane in self.lanes.values():
            lane.set_factor(self._factor)
        self._heading.setFont(enlarged(text_font(), self._factor * STAGE["line"]))
        room = self.start.fontMetrics().horizontalAdvance(WIDEST)
        self.start.setMinimumWidth(room + 32)  # the same for Start and Stop
        self._countdown.setGeometry(self.rect())
        self._dress_words(Theme.current())

    def _dress_words(self, theme: Theme) -> None:
        factor = self._factor
        font = enlarged(text_font(bold=True), factor * STAGE["words"])
        self._words.setFont(font)
        self._words.setMinimumHeight(round(2.1 * self._words.fontMetrics().height()))
        self._words.setStyleSheet(f"color: {theme.color(self._role).name()}")
        count = enlarged(text_font(bold=True), factor * STAGE["count"])
        self._countdown.setFont(count)
        self._countdown.setStyleSheet(f"color: {theme.color('accent').name()}")

    @Slot(object)
    def _on_theme_changed(self, theme: Theme) -> None:
        self._fit()
