"""The owner of the worker and its thread, and of the state that the window shows."""

from __future__ import annotations

import logging
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, get_args

from PySide6.QtCore import QObject, Qt, QThread, QTimer, Signal, Slot

from app.generation_worker import Failure, GenerationWorker, Job
from core.config import DecodingConfig, DecodingRequest, PairConfig
from core.control import Control
from core.distillation.plan import DistillPlan
from core.events import Event, LoadProgress, PairLoaded, RaceStarted, RunStarted
from core.lab.doctor_events import DoctorPlan
from core.session import Session

logger = logging.getLogger(__name__)

Finding = Any  # a frozen dataclass that is no Event: CheckStarted, CellFinished, ...
LabJob = Callable[[Session, Control], Iterator[Finding]]
EVENTS = get_args(Event)
TICK_MS = 66
TICK_BUDGET_MS = 12.0
SLOWEST_TICK_MS = 200


class State(StrEnum):
    """What the controller is doing."""

    IDLE = "idle"
    LOADING = "loading"
    RUNNING = "running"
    PAUSED = "paused"
    WORKING = "working"  # in the lab: it can be stopped, not paused
    STOPPING = "stopping"

    @property
    def is_busy(self) -> bool:
        """Whether a job is under way."""
        return self is not State.IDLE


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

    _job_requested = Signal(object)

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._events: deque[Event] = deque()
        self._control = Control()
        self._state = State.IDLE
        self._run_id = ""
        self._racing = self._in_lab = False
        self._ended = False
        self._failure: Failure | None = None
        self._loaded: PairConfig | None = None
        self._asked: PairConfig | None = None
        self._thread = QThread(self)
        self._worker = GenerationWorker(self._events)
        self._timer = QTimer(self, interval=TICK_MS)
        self._wire()

    def _wire(self) -> None:
        self._worker.moveToThread(self._thread)
        self._job_requested.connect(
            self._worker.run, Qt.ConnectionType.QueuedConnection
        )
        self._worker.failed.connect(self._on_failed)
        self._worker.finished.connect(self._on_worker_finished)
        self._thread.finished.connect(self._on_thread_finished)
        self._timer.timeout.connect(self._on_tick)
        # One thread for all jobs: the kernels' own threads and the device's context
        # belong to the thread that made them.
        self._thread.setObjectName("generation")
        self._thread.start()

    # What is going on -------------------------------------------------------------

    @property
    def state(self) -> State:
        """The present state."""
        return self._state

    @property
    def racing(self) -> bool:
        """Whether the present or last job is a race."""
        return self._racing

    @property
    def in_lab(self) -> bool:
        """Whether the present or last job is one of the lab."""
        return self._in_lab

    @property
    def is_decoding(self) -> bool:
        """Whether the present or last job decodes: a run or race, not a load."""
        return bool(self._run_id)

    @property
    def control(self) -> Control:
        """The control of the present or last job."""
        return self._control

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
        self._racing = False
        self._begin(pair, lambda control: self._session.load(pair, control))

    def run(
        self, pair: PairConfig, request: DecodingRequest, *, stepwise: bool = False
    ) -> None:
        """Decode once; load ``pair`` first if it is not the one in memory.

        Args:
            pair: what decodes.
            request: what is decoded.
            stepwise: do the first round and hold.
        """
        self._racing = False
        run = self._loading(pair, lambda control: self._session.run(request, control))
        self._begin(pair, run, request, stepwise)

    def race(self, pair: PairConfig, request: DecodingRequest) -> None:
        """Race both lanes; load ``pair`` first if it is not the one in memory."""
        self._racing = True
        race = self._loading(pair, lambda control: self._session.race(request, control))
        self._begin(pair, race, request)

    def work(
        self, pair: PairConfig, job: LabJob, config: DecodingConfig | None = None
    ) -> None:
        """Do a job of the lab; load ``pair`` first if it is not the one in memory.

        Args:
            pair: what the job looks at.
            job: begins the work, given the session and the control.
            config: the settings that the control starts with.
        """
        self._racing = False
        loaded = self._loading(pair, lambda control: job(self._session, control))
        self._begin(pair, loaded, lab=True, config=config)

    def make_draft(self, plan: DistillPlan) -> None:
        """Make a draft; the pair in memory stays."""
        self._racing = False
        self._begin(None, lambda control: self._session.distill(plan, control))

    def examine(self, plan: DoctorPlan) -> None:
        """Look at every checkpoint as a draft; the pair in memory stays."""
        self._racing = False
        self._begin(None, lambda control: self._session.doctor(plan, control), lab=True)

    def fetch_demo(self, file: str = "") -> None:
        """Fetch the demo target, or make it from ``file``."""
        self._racing = False
        self._begin(None, lambda control: self._fetching(control, file))

    def play(self, events: Iterable[Event]) -> None:
        """Hand out recorded events as if they happened now; no model, no worker."""
        if self._state.is_busy:
            return
        self._run_id, self._in_lab = "", False  # a recording may hold any run
        self._asked = None
        self._events.extend(events)
        self._set_state(State.LOADING)
        self._ended = True
        self._timer.start(TICK_MS)

    def pause(self) -> None:
        """Hold before the next round."""
        if self._state is State.RUNNING:
            self._control.pause()
            self._set_state(State.PAUSED)

    def resume(self) -> None:
        """Go on after a pause."""
        if self._state is State.PAUSED:
            self._control.resume()
            self._set_state(State.RUNNING)

    def step(self) -> None:
        """Do one more round, then hold."""
        if self._state in (State.RUNNING, State.PAUSED):
            self._control.step()
            self._set_state(State.PAUSED)

    def stop(self) -> None:
        """End the job at the next chance; what was emitted stays."""
        if self._state.is_busy and not self._ended:
            self._control.stop()
            self._set_state(State.STOPPING)

    def update_settings(self, panel: DecodingConfig) -> None:
        """Let the live settings of ``panel`` hold from the next round on."""
        if self._state.is_busy:
            now = self._control.settings()
            self._control.update(_live(now, panel, self._racing))

    def close(self) -> None:
        """Stop everything; ``closed`` follows when the thread has ended."""
        self._control.stop()
        self._thread.quit()
        if not self._thread.isRunning():
            self.closed.emit()

    def wait(self, milliseconds: int) -> bool:
        """Block until the thread has ended; True if it did in time."""
        return self._thread.wait(milliseconds)

    # The job ----------------------------------------------------------------------

    def _begin(
        self,
        pair: PairConfig | None,
        events: Callable[[Control], Iterator[Event | Finding]],
        request: DecodingRequest | None = None,
        stepwise: bool = False,
        *,
        lab: bool = False,
        config: DecodingConfig | None = None,
    ) -> None:
        if self._state.is_busy:
            logger.warning("a job is under way; the new one is not begun")
            return
        self._control = Control(request.config if request else config)
        if stepwise:
            self._control.step()
        self._run_id = request.run_id if request else ""
        self._in_lab = lab
        self._asked, self._ended, self._failure = pair, False, None
        self._events.clear()
        self._set_state(State.LOADING)
        if pair != self._loaded:
            self.load_coming.emit()
        self._timer.start(TICK_MS)
        control = self._control
        lanes = 2 if self._racing else 1
        self._job_requested.emit(Job(lambda: events(control), control, lanes))

    def _loading(
        self, pair: PairConfig, work: Callable[[Control], Iterator[Event | Finding]]
    ) -> Callable[[Control], Iterator[Event | Finding]]:
        """Return the generator function: load if need be, then work."""
        needs_load = pair != self._loaded

        def events(control: Control) -> Iterator[Event | Finding]:
            if needs_load:
                yield from self._session.load(pair, control)
            if not control.should_stop():
                yield from work(control)

        return events

    def _fetching(self, control: Control, file: str) -> Iterator[Event]:
        """Report from inside the call: it takes callbacks, and yields at its end."""
        from core.checkpoints import demo
        from core.checkpoints.progress import Cancelled

        report, should_stop = self._events.append, control.should_stop
        try:
            if file:
                demo.install_demo_from(Path(file), report, should_stop)
            else:
                demo.fetch_demo(report, should_stop)
        except Cancelled:
            return
        yield LoadProgress("The demo model is ready", 1.0)

    # Events back ------------------------------------------------------------------

    @Slot()
    def _on_tick(self) -> None:
        started = time.perf_counter()
        spent = 0.0
        while self._events and spent <= TICK_BUDGET_MS:
            self._hand_out(self._events.popleft())
            spent = (time.perf_counter() - started) * 1e3
        self._stretch(spent)
        self.drained.emit()
        if self._ended and not self._events:
            self._conclude()

    def _stretch(self, spent: float) -> None:
        """Leave the window room to paint when a tick was dear."""
        factor = max(1.0, spent / TICK_BUDGET_MS)
        interval = min(SLOWEST_TICK_MS, int(TICK_MS * factor))
        if interval != self._timer.interval():
            self._timer.setInterval(interval)

    def _hand_out(self, event: Event) -> None:
        run_id = getattr(event, "run_id", self._run_id)
        if self._run_id and run_id != self._run_id:
            return
        if isinstance(event, PairLoaded) and self._asked is not None:
            self._loaded = self._asked
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
        if self._state is State.LOADING and self._asked is not None:
            held = self._control.paused
            self._set_state(State.PAUSED if held else State.RUNNING)

    @Slot(object)
    def _on_failed(self, failure: object) -> None:
        assert isinstance(failure, Failure)
        self._failure = failure

    @Slot()
    def _on_worker_finished(self) -> None:
        self._ended = True
        self._on_tick()

    def _conclude(self) -> None:
        self._timer.stop()
        self._ended = False
        failure, self._failure = self._failure, None
        self._set_state(State.IDLE)
        if failure is not None and failure.is_ours:
            self.crashed.emit(failure)
        elif failure is not None:
            self.failed.emit(failure.sentence, failure.detail)
        self.finished.emit()

    @Slot()
    def _on_thread_finished(self) -> None:
        self.closed.emit()

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


def new_run_id() -> str:
    """Return a name that no other run of this person's has."""
    return uuid.uuid4().hex[:12]
