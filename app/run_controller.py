"""The owner of the one job that may run, and of the state that the window shows."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import get_args

from PySide6.QtCore import QObject, Signal, Slot

from app.generation_worker import Failure
from app.job_thread import JobThread
from app.jobs import Finding, Job, State, Work, fetching_demo, loading_first
from core.config import DecodingConfig, DecodingRequest, PairConfig
from core.control import Control
from core.distillation.plan import DistillPlan
from core.events import Event, PairLoaded, RaceStarted, RunStarted
from core.lab.doctor_events import DoctorPlan
from core.session import Session

logger = logging.getLogger(__name__)

LabJob = Callable[[Session, Control], Iterator[Finding]]
EVENTS = get_args(Event)


class RunController(QObject):
    """Start, steer and end the one job that may run at a time.

    Signals:
        state_changed: the new State.
        load_coming: a model will be loaded by the job that begins.
        load_done: it is loaded.
        event_arrived: one event of the present run, in order.
        finding_arrived: what a job of the lab found, in order.
        drained: the events of one tick were handed out.
        failed: a sentence and its detail; a person can act on it.
        crashed: a Failure that is our own fault.
        finished: the job's last event was handed out.
        closed: after :meth:`close`, the thread has ended.
    """

    state_changed = Signal(object)
    load_coming = Signal()
    load_done = Signal()
    event_arrived = Signal(object)
    finding_arrived = Signal(object)
    drained = Signal()
    failed = Signal(str, str)
    crashed = Signal(object)
    finished = Signal()
    closed = Signal()

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._state = State.IDLE
        self._job = Job()
        self._loaded: PairConfig | None = None
        self._thread = JobThread(self)
        self._thread.told.connect(self._on_told)
        self._thread.drained.connect(self.drained)
        self._thread.ended.connect(self._on_ended)
        self._thread.closed.connect(self.closed)

    # What is going on -------------------------------------------------------------

    @property
    def state(self) -> State:
        """The present state."""
        return self._state

    @property
    def racing(self) -> bool:
        """Whether the present or last job is a race."""
        return self._job.racing

    @property
    def in_lab(self) -> bool:
        """Whether the present or last job is one of the lab."""
        return self._job.in_lab

    @property
    def is_decoding(self) -> bool:
        """Whether the present or last job decodes: a run or race, not a load."""
        return bool(self._job.run_id)

    @property
    def loaded_pair(self) -> PairConfig | None:
        """The pair that is in memory, as it was asked for."""
        return self._loaded

    def token_question(self, request: DecodingRequest) -> Callable[[], object]:
        """Return the errand that finds the ids of a prompt."""
        return partial(self._session.prompt_tokens, request)

    # What a person can ask --------------------------------------------------------

    def load(self, pair: PairConfig) -> None:
        """Load ``pair`` and nothing more."""
        self._begin(Job(partial(self._session.load, pair), pair=pair))

    def run(
        self, pair: PairConfig, request: DecodingRequest, *, stepwise: bool = False
    ) -> None:
        """Decode once; load ``pair`` first if it is not the one in memory.

        Args:
            pair: what decodes.
            request: what is decoded.
            stepwise: do the first round and hold.
        """
        control = Control(request.config)
        if stepwise:
            control.step()
        run = self._on_pair(pair, partial(self._session.run, request))
        self._begin(Job(run, control, pair, request.run_id))

    def race(self, pair: PairConfig, request: DecodingRequest) -> None:
        """Race both lanes; load ``pair`` first if it is not the one in memory."""
        race = self._on_pair(pair, partial(self._session.race, request))
        control = Control(request.config)
        self._begin(Job(race, control, pair, request.run_id, racing=True))

    def work(
        self, pair: PairConfig, job: LabJob, config: DecodingConfig | None = None
    ) -> None:
        """Do a job of the lab; load ``pair`` first if it is not the one in memory.

        Args:
            pair: what the job looks at.
            job: begins the work, given the session and the control.
            config: the settings that the control starts with.
        """
        work = self._on_pair(pair, partial(job, self._session))
        self._begin(Job(work, Control(config), pair, in_lab=True))

    def make_draft(self, plan: DistillPlan) -> None:
        """Make a draft; the pair in memory stays."""
        self._begin(Job(partial(self._session.distill, plan)))

    def examine(self, plan: DoctorPlan) -> None:
        """Look at every checkpoint as a draft; the pair in memory stays."""
        self._begin(Job(partial(self._session.doctor, plan), in_lab=True))

    def fetch_demo(self, file: str = "") -> None:
        """Fetch the demo target, or make it from ``file``."""
        self._begin(Job(fetching_demo(file, self._thread.report)))

    def play(self, events: Iterable[Event]) -> None:
        """Hand out recorded events as if they happened now; no model, no worker."""
        if not self._state.is_busy:
            self._job = Job()  # without the id of a run: a recording may hold any
            self._set_state(State.LOADING)
            self._thread.play(events)

    def pause(self) -> None:
        """Hold before the next round."""
        if self._state is State.RUNNING:
            self._job.control.pause()
            self._set_state(State.PAUSED)

    def resume(self) -> None:
        """Go on after a pause."""
        if self._state is State.PAUSED:
            self._job.control.resume()
            self._set_state(State.RUNNING)

    def step(self) -> None:
        """Do one more round, then hold."""
        if self._state in (State.RUNNING, State.PAUSED):
            self._job.control.step()
            self._set_state(State.PAUSED)

    def stop(self) -> None:
        """End the job at the next chance; what was emitted stays."""
        if self._state.is_busy and not self._thread.is_complete:
            self._job.control.stop()
            self._set_state(State.STOPPING)

    def update_settings(self, panel: DecodingConfig) -> None:
        """Let the live settings of ``panel`` hold from the next round on."""
        if self._state.is_busy:
            now = self._job.control.settings()
            self._job.control.update(_live(now, panel, self._job.racing))

    def close(self) -> None:
        """Stop everything; ``closed`` follows when the thread has ended."""
        self._job.control.stop()
        self._thread.close()

    def wait(self, milliseconds: int) -> bool:
        """Block until the thread has ended; True if it did in time."""
        return self._thread.wait(milliseconds)

    # The job ----------------------------------------------------------------------

    def _on_pair(self, pair: PairConfig, work: Work) -> Work:
        if pair == self._loaded:
            return work
        return loading_first(self._session, pair, work)

    def _begin(self, job: Job) -> None:
        if self._state.is_busy:
            logger.warning("a job is under way; the new one is not begun")
            return
        self._job = job
        self._set_state(State.LOADING)
        if job.pair != self._loaded:
            self.load_coming.emit()
        self._thread.begin(job)

    @Slot(object)
    def _on_told(self, event: Event | Finding) -> None:
        run_id = self._job.run_id
        if run_id and getattr(event, "run_id", run_id) != run_id:
            return
        if isinstance(event, PairLoaded) and self._job.pair is not None:
            self._loaded = self._job.pair
            self.load_done.emit()
        if isinstance(event, RunStarted | RaceStarted):
            self._on_decoding_started()
        if isinstance(event, EVENTS):
            self.event_arrived.emit(event)
        else:
            self._on_found(event)

    def _on_found(self, finding: Finding) -> None:
        if self._state is State.LOADING:
            self._set_state(State.WORKING)
        self.finding_arrived.emit(finding)

    def _on_decoding_started(self) -> None:
        if self._state is State.LOADING and self._job.pair is not None:
            held = self._job.control.paused
            self._set_state(State.PAUSED if held else State.RUNNING)

    @Slot(object)
    def _on_ended(self, failure: Failure | None) -> None:
        self._set_state(State.IDLE)
        if failure is not None and failure.is_ours:
            self.crashed.emit(failure)
        elif failure is not None:
            self.failed.emit(failure.sentence, failure.detail)
        self.finished.emit()

    def _set_state(self, state: State) -> None:
        if state is not self._state:
            self._state = state
            self.state_changed.emit(state)


def _live(now: DecodingConfig, panel: DecodingConfig, racing: bool) -> DecodingConfig:
    """Return the settings for the next round: in a race only K may change."""
    if racing:
        return replace(
            now, lookahead=panel.lookahead, auto_lookahead=panel.auto_lookahead
        )
    return now.with_live(panel)
