"""Where in its run the page stands, and playing it at any speed from the clocks."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal, Slot

from app.player import Player
from app.timeline import Timeline
from app.views.labels import seconds
from app.views.scrub_bar import NOTHING, ScrubBar
from core.events import Event, Lane


class Replay(QObject):
    """Moves a position along the timeline of the last run.

    Signals:
        moved: the position, when the views have to follow.
    """

    moved = Signal(int)

    def __init__(self, bar: ScrubBar, parent: QObject) -> None:
        super().__init__(parent)
        self.timeline, self.position, self._bar = Timeline(), 0, bar
        self._player = Player(self)
        self._player.ticked.connect(self._on_ticked)
        bar.position_chosen.connect(self.go_to)
        bar.step_asked.connect(self.step)
        bar.play_asked.connect(self.play_or_hold)
        bar.speed_chosen.connect(self._on_speed_chosen)

    @property
    def is_playing(self) -> bool:
        """Whether it plays."""
        return self._player.is_running

    @property
    def is_at_end(self) -> bool:
        """Whether all rounds are shown."""
        return self.position == len(self.timeline)

    def on_event(self, event: Event) -> None:
        """Take in an event of the run: the views show it, so the position follows."""
        if not self.is_at_end:
            self.go_to(len(self.timeline))
        self.timeline.on_event(event)
        self.position = len(self.timeline)

    def clear(self) -> None:
        """Forget the run."""
        self.hold()
        self.timeline.clear()
        self.position = 0
        self.show()

    def set_offered(self, offered: bool) -> None:
        """Let a person scrub; while a run goes on, its end is what shows."""
        if not offered:
            self.hold()
            self.go_to(len(self.timeline))
        self._bar.set_offered(offered)
        self.show()

    def show(self) -> None:
        """Let the bar say where the run is."""
        words = self.words()
        # Where there is little room: 12/87 · 1.32 s, or 12/87 alone.
        brief = words.removeprefix("round ").replace(" of ", "/")
        shorter = brief, brief.split(" · ")[0].removesuffix(" yet")
        self._bar.show_position(self.position, len(self.timeline), words, *shorter)

    def words(self) -> str:
        """Return the position for people: ``round 12 of 87 · 1.32 s``."""
        if not len(self.timeline):
            return NOTHING
        counts = self.timeline.counts(self.position)
        lane = Lane.SPECULATIVE if counts.get(Lane.SPECULATIVE) is not None else None
        lane = lane or self.timeline.lanes[0]
        shown, all_ = counts[lane], self.timeline.num_rounds(lane)
        clock = seconds(self.timeline.clock_ms(self.position))
        return f"round {shown:,} of {all_:,} · {clock}"

    # Moving -----------------------------------------------------------------------

    @Slot(int)
    def go_to(self, position: int) -> None:
        """Stand at a position; playing goes on from there."""
        position = max(0, min(position, len(self.timeline)))
        self._player.set_clock(self.timeline.clock_ms(position))
        self._stand_at(position)

    @Slot(int)
    def step(self, by: int) -> None:
        """Move by some rounds, and hold there."""
        self.hold()
        self.go_to(self.position + by)

    @Slot()
    def play_or_hold(self) -> None:
        """Play from here; from the beginning where the end shows; or hold."""
        if self.is_playing:
            self.hold()
        elif len(self.timeline):
            self.go_to(0 if self.is_at_end else self.position)
            self._player.start()
            self._bar.show_playing(True)

    def hold(self) -> None:
        """Stay here."""
        if self.is_playing:
            self._player.stop()
            self._bar.show_playing(False)

    def _stand_at(self, position: int) -> None:
        if position != self.position:
            self.position = position
            self.moved.emit(position)
        self.show()

    @Slot(float)
    def _on_ticked(self, clock_ms: float) -> None:
        self._stand_at(self.timeline.position_at(clock_ms))
        if self.is_at_end:
            self.hold()

    @Slot(float)
    def _on_speed_chosen(self, factor: float) -> None:
        self._player.speed = factor
