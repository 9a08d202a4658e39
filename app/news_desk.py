"""Between the controller and the screen: what a job says, and what is shown of it."""

from __future__ import annotations

from PySide6.QtCore import QObject, Slot

from app.decode_page import DecodePage
from app.draft_desk import DraftDesk
from app.generation_worker import Failure
from app.jobs import Finding, State
from app.lab_page import LabPage
from app.panels.decoding_panel import Phase
from app.panels.top_bar import TopBar
from app.run_controller import RunController
from app.run_status import RunStatus
from app.trace_actions import TraceActions
from app.trace_desk import origin_of
from core.events import (
    Event,
    LoadProgress,
    Noted,
    PairLoaded,
    PrefillProgress,
    RaceStarted,
    RoundFinished,
    RunStarted,
)
from core.trace import Trace, TraceHeader

BADGES = {
    "": ("accepted", ""),
    "MEASURED": (
        "accepted",
        "Every number was measured on this computer in this run.",
    ),
    "RECORDED": (
        "bonus",
        "Replayed from a file; the numbers were measured when it was recorded.",
    ),
}


class NewsDesk(QObject):
    """Shows the present run, measured or recorded, and how every job ends."""

    def __init__(
        self,
        bar: TopBar,
        page: DecodePage,
        lab: LabPage,
        controller: RunController,
        drafts: DraftDesk,
        traces: TraceActions,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._bar, self._page, self._lab = bar, page, lab
        self._controller, self._drafts, self._traces = controller, drafts, traces
        self._coming = self._replaying = self._new_round = False
        self._status = RunStatus()
        controller.event_arrived.connect(self._on_event)
        controller.finding_arrived.connect(self._on_finding)
        controller.drained.connect(self._on_drained)
        controller.failed.connect(self._on_failed)
        controller.crashed.connect(self._on_crashed)
        controller.finished.connect(self._on_finished)
        traces.opened.connect(self._on_trace_opened)

    @Slot()
    def expect(self) -> None:
        """Get ready for a run that was asked for."""
        # The last run stays until the new one starts: a load may fail before that.
        self._coming = True
        self._page.banners.clear()

    def _begin(self, recording: TraceHeader | None = None) -> None:
        self._replaying, self._coming = recording is not None, False
        self._traces.desk.begin(recording)
        self._show_badge("")
        self._page.banners.clear()
        self._page.clear()
        self._status = RunStatus()

    def show_state(self, state: State) -> None:
        """Offer and lock what the controller's new state offers and locks."""
        busy = state.is_busy
        self._bar.show_state(state)
        self._page.decoding.set_phase(_phase(busy, self._controller.racing))
        self._page.prompt.set_locked(busy)
        self._page.pair.set_locked(busy)
        holds = state in (State.IDLE, State.PAUSED) or self._controller.in_lab
        self._page.replay.set_offered(holds)
        if state is not State.LOADING:
            self._page.strip.hide()
        if state is State.STOPPING:
            self._bar.show_status("Stopping…")

    @Slot(object)
    def _on_event(self, event: Event) -> None:
        if self._coming and isinstance(event, RunStarted | RaceStarted):
            self._begin()
        self._status.on_event(event)
        self._traces.desk.add(event)
        match event:
            case LoadProgress():
                self._page.strip.show_progress(event)
                self._lab.on_finding(event)
            case PairLoaded():
                self._page.strip.hide()
                if not self._replaying:  # the recording's pair is not the one chosen
                    self._page.pair.show_loaded(event)
            case PrefillProgress():
                self._page.strip.show_prefill(event)
            case RoundFinished():
                self._new_round = True
            case Noted():
                self._page.banners.show_note(event.sentence)
            case _:
                pass
        if not isinstance(event, LoadProgress | PairLoaded):
            self._page.on_event(event)

    @Slot(object)
    def _on_finding(self, finding: Finding) -> None:
        said = self._lab.on_finding(finding) or self._drafts.on_finding(finding)
        self._status.say(said)

    @Slot()
    def _on_drained(self) -> None:
        paused = self._controller.state is State.PAUSED
        self._page.replay.show()
        if paused and self._new_round:
            self._page.show_latest_round()
        self._new_round = False
        self._bar.show_status(self._status.text + (" · paused" if paused else ""))
        if self._status.measured and not self._bar.badge.text():
            self._show_badge("MEASURED")

    @Slot(str, str)
    def _on_failed(self, sentence: str, detail: str) -> None:
        page = self._lab if self._controller.in_lab else self._page
        page.banners.show_error(sentence, detail)
        self._end_early()

    @Slot(object)
    def _on_crashed(self, failure: Failure) -> None:
        self._end_early()

    def _end_early(self) -> None:
        self._bar.show_status("Ready")
        if self._controller.is_decoding:  # not a load, which has no trace
            self._traces.keep_failed()

    @Slot()
    def _on_finished(self) -> None:
        self._page.strip.hide()
        if self._controller.in_lab:
            return  # the last run stays as it is, and the status tells the outcome
        self._page.show_latest_round(unless_chosen=True)
        if not self._status.measured and not self._status.loaded:
            self._bar.show_status("Ready")

    @Slot(object)
    def _on_trace_opened(self, trace: Trace) -> None:
        if self._controller.state.is_busy:
            return
        self._begin(trace.header)
        self._show_badge("RECORDED")
        self._page.banners.show_note(origin_of(trace))
        for note in trace.notes:
            self._page.banners.show_note(note)
        self._controller.play(trace.events)

    def _show_badge(self, word: str) -> None:
        role, explanation = BADGES[word]
        self._bar.badge.show_word(word, role, explanation)
        self._page.verdict.set_badge(word)


def _phase(busy: bool, racing: bool) -> Phase:
    if not busy:
        return Phase.IDLE
    return Phase.RACING if racing else Phase.RUNNING
