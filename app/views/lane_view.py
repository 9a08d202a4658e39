"""One lane: its header, and its text or a word on why there is none."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QFrame, QLabel, QStackedLayout, QVBoxLayout, QWidget

from app.panels.parts import LinkButton
from app.views.announce import announce
from app.views.labels import count, lookahead_word, seconds
from app.views.lane_header import LaneHeader
from app.views.token_view import TokenView
from core.events import (
    Event,
    Lane,
    Noted,
    PrefillFinished,
    PrefillProgress,
    RoundFinished,
    RunFinished,
    RunStarted,
    SettingsChanged,
    StopReason,
)

EMPTY = {
    Lane.SPECULATIVE: "Press Run to decode the prompt.\n"
    "Every token will show where it came from.",
    Lane.PLAIN: "Press Race to decode the same prompt\nwith the target alone.",
}
NARROWEST = 175  # two of them take no more room than the inspector below
TOUR = "New here? A round in five steps"
NAMES = {Lane.SPECULATIVE: "Speculative", Lane.PLAIN: "Plain"}
ENDINGS = {
    StopReason.EOS: "end of text",
    StopReason.STOP: "stop string",
    StopReason.LENGTH: "length reached",
    StopReason.CONTEXT: "context full",
    StopReason.CANCELLED: "stopped",
    StopReason.ERROR: "failed",
}


class LaneView(QFrame):
    """Shows the events of one lane; those of the other pass by.

    Signals:
        round_chosen: lane, round index, place (0 where none was judged).
        tour_asked: somebody new wants a round explained.
    """

    round_chosen = Signal(object, int, int)
    tour_asked = Signal()

    def __init__(self, lane: Lane, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.lane = lane
        self.setProperty("card", True)
        self.header = LaneHeader(lane)
        self.tokens = TokenView(f"{NAMES[lane]} text")
        self.tokens.token_chosen.connect(self._on_token_chosen)
        self._empty = QLabel(EMPTY[lane])
        self._arrange()
        self.clear()

    def _arrange(self) -> None:
        self._empty.setProperty("role", "muted")
        self._empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._empty.setWordWrap(True)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(1, 1, 1, 1)
        layout.setSpacing(0)
        layout.addWidget(self.header)
        self._stack = QStackedLayout()
        self._nothing = self._empty_page()
        self._stack.addWidget(self._nothing)
        self._stack.addWidget(self.tokens)
        layout.addLayout(self._stack, 1)
        self.setMinimumSize(NARROWEST, 120)

    def _empty_page(self) -> QWidget:
        """Return what stands in an empty lane; the first one offers the tour."""
        page = QWidget()
        self.tour = LinkButton(TOUR)
        self.tour.setVisible(self.lane is Lane.SPECULATIVE)
        self.tour.clicked.connect(self.tour_asked)
        column = QVBoxLayout(page)
        column.addStretch(1)
        column.addWidget(self._empty)
        column.addWidget(self.tour, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addStretch(1)
        return page

    def clear(self) -> None:
        """Forget the run and say what would fill the lane."""
        self._forget()
        self.tokens.clear()
        self._stack.setCurrentWidget(self._nothing)
        self.header.clear()
        self.header.set_title(*self._titles(None))

    def _forget(self) -> None:
        self._emitted, self._rounds, self._clock_ms = 0, 0, 0.0
        self._prefix, self._note, self._ending = "", "", ("", "")
        self._first_k: str | None = None
        self._k: str | None = None
        self._all_rounds = 0
        self.header.set_rate(None)
        self.header.set_progress(None)
        self.header.set_line("")

    def set_show_rejected(self, shown: bool) -> None:
        """Fold refused and discarded proposals in or out."""
        self.tokens.set_show_rejected(shown)

    def mark_round(self, round_index: int | None) -> None:
        """Outline a round's tokens, or none."""
        self.tokens.mark_round(round_index)

    def on_event(self, event: Event) -> None:
        """Take in one event."""
        if getattr(event, "lane", None) is not self.lane:
            return
        match event:
            case RunStarted():
                self._start(event)
            case PrefillProgress(done=done, total=total):
                self.header.set_progress(done / total if total else None)
                self.header.set_line(
                    f"reading the prompt, {done:,} of {total:,} tokens"
                )
            case PrefillFinished(prefill_ms=prefill_ms):
                self.header.set_progress(None)
                self.header.set_line(f"prompt read in {seconds(prefill_ms)}")
            case RoundFinished():
                self._add(event)
            case SettingsChanged():
                self.tokens.add_seam(event)
            case Noted(sentence=sentence):
                self._note = sentence
                self._tell()
            case RunFinished():
                self._finish(event)
            case _:
                pass

    def _start(self, event: RunStarted) -> None:
        self._forget()
        self._prefix = "warm-up, not counted · " if event.warm_up else ""
        self._first_k = self._k = lookahead_word(event.settings)
        self.header.set_title(*self._titles(self._k))
        self.header.set_line(
            f"{self._prefix}{count(len(event.prompt), 'prompt token')}"
        )
        self.tokens.start(event.prompt)
        self._stack.setCurrentWidget(self.tokens)

    def _add(self, event: RoundFinished) -> None:
        self.tokens.add_round(event)
        self._all_rounds += 1
        self._stand_after(self._all_rounds, event)

    def show_rounds(self, count: int, last: RoundFinished | None) -> None:
        """Show the lane as it was after ``count`` rounds, ``last`` among them."""
        whole = count >= self._all_rounds
        self.tokens.show_rounds(None if whole else count)
        self._stand_after(count, last)
        ending, role = self._ending
        if whole and ending:
            self._tell_ending(ending, role)

    def _stand_after(self, count: int, last: RoundFinished | None) -> None:
        self._rounds = count
        self._emitted = last.position + len(last.tokens) if last else 0
        self._clock_ms = last.clock_ms if last else 0.0
        lookahead = lookahead_word(last.settings) if last else self._first_k
        if lookahead != self._k:
            self._k = lookahead
            self.header.set_title(*self._titles(lookahead))
        self._tell()

    def _tell(self) -> None:
        """Show the cumulative rate: an instant one jumps with every accepted run."""
        clock = self._clock_ms
        self.header.set_rate(1000 * self._emitted / clock if clock > 0 else None)
        role = "warning" if self._note else "muted"
        self.header.set_line(self._progress(), role, self._brief())

    def _progress(self) -> str:
        parts = [count(self._emitted, "token"), seconds(self._clock_ms)]
        if self.lane is Lane.SPECULATIVE:
            parts.append(count(self._rounds, "round"))
        return self._prefix + " · ".join([*parts, *filter(None, [self._note])])

    def _brief(self) -> str:
        """Return the words for a narrow lane; none that would hide a note."""
        if self._note:
            return ""
        return f"{count(self._emitted, 'token')} · {seconds(self._clock_ms)}"

    def _tell_ending(self, ending: str, role: str) -> None:
        whole, tokens = self._progress(), count(self._emitted, "token")
        shorter = (f"{self._brief()} · {ending}", f"{tokens} · {ending}", ending)
        shorter = () if self._note else shorter
        self.header.set_line(f"{whole} · {ending}", role, *shorter)

    def _finish(self, event: RunFinished) -> None:
        self.tokens.finish(event.summary.text)
        self._tell()
        failed = event.summary.stop_reason is StopReason.ERROR
        ending = event.error if event.error else ENDINGS[event.summary.stop_reason]
        role = "error" if failed else "warning" if self._note else "muted"
        self._ending = ending, role
        self._tell_ending(ending, role)
        announce(self.tokens, f"{self._progress()} · {ending}")

    def _titles(self, lookahead: str | None) -> tuple[str, ...]:
        """Return the lane's name, and shorter ones for a narrow lane."""
        if self.lane is Lane.PLAIN:
            return "Plain · same target", "Plain"
        if lookahead is None:
            return "Speculative", "Spec."
        k = f"K = {lookahead}"
        return f"Speculative · {k}", f"Spec. · {k}", k

    @Slot(int, int)
    def _on_token_chosen(self, round_index: int, place: int) -> None:
        self.round_chosen.emit(self.lane, round_index, place)
