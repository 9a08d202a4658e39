"""The controller and its worker, with a session that plays a script."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QThread

from app.generation_worker import Failure, GenerationWorker
from app.jobs import State
from app.run_controller import RunController
from core.config import DecodingConfig, DecodingRequest, ModelConfig, PairConfig
from core.errors import DeviceMemoryError
from core.events import LoadProgress, PairLoaded, RoundFinished, RunFinished, StopReason
from tests.fakes import Lane, LaneScript, ScriptedSession

pytestmark = pytest.mark.window

PAIR = PairConfig(ModelConfig("scripted"))
CONFIG = DecodingConfig(lookahead=4, temperature=0.5)


class Listener:
    """Collect what the controller says; bound methods, so all in this thread."""

    def __init__(self, controller: RunController) -> None:
        self.events: list[object] = []
        self.states: list[State] = []
        self.failures: list[tuple[str, str]] = []
        self.crashes: list[Failure] = []
        controller.event_arrived.connect(self.events.append)
        controller.state_changed.connect(self.states.append)
        controller.failed.connect(self._on_failed)
        controller.crashed.connect(self.crashes.append)

    def _on_failed(self, sentence: str, detail: str) -> None:
        self.failures.append((sentence, detail))

    def of(self, kind: type) -> list:
        return [e for e in self.events if isinstance(e, kind)]


@pytest.fixture
def session():
    return ScriptedSession()


@pytest.fixture
def controller(qapp, session):
    controller = RunController(session)
    yield controller
    controller.close()
    assert controller.wait(3000)


@pytest.fixture
def listener(controller):
    return Listener(controller)


def request(run_id: str = "r1", **changes) -> DecodingRequest:
    return DecodingRequest(run_id, "Say it again.", CONFIG, **changes)


def hold(qtbot, session, controller, before=2):
    """Begin a run and wait until its worker holds."""
    session.hold_before = before
    controller.run(PAIR, request())
    qtbot.waitUntil(session.held.is_set)
    qtbot.waitUntil(lambda: controller.state is State.RUNNING)


def test_run_loads_the_pair_first_then_goes_through_all_states(
    qtbot, controller, listener, session
):
    with qtbot.waitSignal(controller.finished):
        controller.run(PAIR, request())
    assert listener.states == [State.LOADING, State.RUNNING, State.IDLE]
    assert listener.of(LoadProgress)
    assert listener.of(PairLoaded)
    assert len(listener.of(RoundFinished)) == session.rounds
    assert isinstance(listener.events[-1], RunFinished)


def test_a_second_run_does_not_load_again(qtbot, controller, session):
    for name in ("r1", "r2"):
        with qtbot.waitSignal(controller.finished):
            controller.run(PAIR, request(name))
    assert len(session.loads) == 1


def test_another_pair_is_loaded(qtbot, controller, session):
    other = PairConfig(ModelConfig("other"))
    for pair in (PAIR, other):
        with qtbot.waitSignal(controller.finished):
            controller.run(pair, request())
    assert session.loads == [PAIR, other]
    assert controller.loaded_pair == other


def test_step_does_one_round(qtbot, controller, listener, session):
    hold(qtbot, session, controller)
    controller.pause()
    session.release()
    qtbot.waitUntil(lambda: len(listener.of(RoundFinished)) == 3)
    for expected in (4, 5):
        controller.step()
        qtbot.waitUntil(lambda n=expected: len(listener.of(RoundFinished)) == n)
        assert controller.state is State.PAUSED
    with qtbot.waitSignal(controller.finished):
        controller.resume()
    assert len(listener.of(RoundFinished)) == session.rounds


def test_stop_ends_a_paused_run_as_cancelled(qtbot, controller, listener, session):
    hold(qtbot, session, controller)
    controller.pause()
    with qtbot.waitSignal(controller.finished):
        controller.stop()
    assert listener.states[-2:] == [State.STOPPING, State.IDLE]
    assert listener.events[-1].summary.stop_reason is StopReason.CANCELLED
    assert len(listener.of(RoundFinished)) == 2


def test_an_error_for_the_person_is_a_sentence_and_the_text_stays(
    qtbot, controller, listener, session
):
    session.fail_before = 3
    session.error = DeviceMemoryError("Out of memory; choose less.", detail="8 of 8 GB")
    with qtbot.waitSignal(controller.finished):
        controller.run(PAIR, request())
    assert listener.failures == [("Out of memory; choose less.", "8 of 8 GB")]
    assert not listener.crashes
    assert len(listener.of(RoundFinished)) == 3
    assert controller.state is State.IDLE


def test_our_own_fault_carries_its_traceback_and_the_next_run_works(
    qtbot, controller, listener, session, caplog
):
    session.fail_before = 1
    with qtbot.waitSignal(controller.finished):
        controller.run(PAIR, request())
    assert "scripted fault" in listener.crashes[0].trace
    assert "Traceback" in caplog.text
    session.fail_before = None
    with qtbot.waitSignal(controller.finished):
        controller.run(PAIR, request("r2"))
    assert isinstance(listener.events[-1], RunFinished)


def test_a_failed_load_keeps_the_pair_that_was_there(qtbot, controller, session):
    with qtbot.waitSignal(controller.finished):
        controller.run(PAIR, request())
    session.load_error = DeviceMemoryError("Too large.")
    with qtbot.waitSignal(controller.finished):
        controller.run(PairConfig(ModelConfig("huge")), request("r2"))
    assert controller.loaded_pair == PAIR


def test_a_live_change_holds_from_the_next_round(qtbot, controller, session):
    hold(qtbot, session, controller)
    changed = DecodingConfig(lookahead=7, temperature=1.0, seed=5)
    controller.update_settings(changed)
    with qtbot.waitSignal(controller.finished):
        session.release()
    assert session.settings_seen[1] == CONFIG
    last = session.settings_seen[-1]
    assert (last.lookahead, last.temperature) == (7, 1.0)
    assert last.seed == CONFIG.seed  # fixed while running


def test_in_a_race_only_k_is_live(qtbot, controller, session):
    session.hold_before = 2
    controller.race(PAIR, request(repeats=1))
    qtbot.waitUntil(session.held.is_set)
    controller.update_settings(DecodingConfig(lookahead=9, temperature=2.0))
    with qtbot.waitSignal(controller.finished):
        session.release()
    last = session.settings_seen[-1]
    assert (last.lookahead, last.temperature) == (9, CONFIG.temperature)


def test_events_of_another_run_are_dropped(qtbot, controller, listener):
    stale = LaneScript(request("old"), Lane.SPECULATIVE, config=CONFIG).started()
    with qtbot.waitSignal(controller.finished):
        controller.run(PAIR, request("new"))
        controller._thread._events.extend(stale)
    names = {e.run_id for e in listener.events if hasattr(e, "run_id")}
    assert names == {"new"}


def test_a_recording_plays_without_the_session(qtbot, controller, listener, session):
    script = LaneScript(request("old"), Lane.SPECULATIVE, config=CONFIG)
    events = [*script.started(), *script.round(CONFIG), *script.round(CONFIG)]
    with qtbot.waitSignal(controller.finished):
        controller.play(events)
    assert listener.events == events
    assert not session.loads


def test_closing_while_running_leaves_no_thread(qtbot, qapp, session):
    controller = RunController(session)
    hold(qtbot, session, controller)
    with qtbot.waitSignal(controller.closed):
        controller.close()
    assert controller.wait(2000), "finished is told just before the thread is gone"
    assert not controller.findChild(QThread).isRunning()


def test_worker_signals_reach_only_slots_of_objects():
    """A lambda or a plain function would run in the worker's thread."""
    import ast
    import inspect

    import app.errands
    import app.job_thread
    import app.run_controller

    for module in (app.job_thread, app.run_controller, app.errands):
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            if (
                isinstance(node, ast.Call)
                and getattr(node.func, "attr", "") == "connect"
            ):
                assert isinstance(node.args[0], ast.Attribute), ast.unparse(node)
    assert not inspect.signature(GenerationWorker).parameters.get("parent")
