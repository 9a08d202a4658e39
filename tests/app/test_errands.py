"""Small questions in the background: order, newest only, and no wait behind torch."""

from __future__ import annotations

import threading
import time

import pytest

from app.errands import Errands
from core.errors import TraceError

pytestmark = pytest.mark.window


@pytest.fixture
def errands(qtbot):
    made = Errands()
    yield made
    assert made.close()


def test_a_recording_need_not_wait_for_what_imports_torch(qtbot, errands):
    import_ends = threading.Event()
    errands.ask("devices", lambda: import_ends.wait(10))
    with qtbot.waitSignal(errands.answered) as answered:
        errands.ask("open trace", lambda: "events", light=True)
    assert answered.args == ["open trace", "events"]
    with qtbot.waitSignal(errands.answered) as answered:
        import_ends.set()
    assert answered.args == ["devices", True]


def test_only_the_newest_question_is_answered(qtbot, errands):
    heard, hold = [], threading.Event()
    errands.answered.connect(lambda *answer: heard.append(answer))
    errands.ask("outlook", lambda: hold.wait(10))
    errands.ask("outlook", lambda: "new")
    hold.set()
    qtbot.waitUntil(lambda: heard != [])
    assert heard == [("outlook", "new")]


def test_a_failure_is_an_answer_in_words(qtbot, errands):
    def broken():
        raise TraceError("run.jsonl is damaged.", path="run.jsonl")

    with qtbot.waitSignal(errands.failed) as failed:
        errands.ask("open trace", broken, light=True)
    key, failure = failed.args
    assert (key, failure.sentence) == ("open trace", "run.jsonl is damaged.")
    assert not failure.is_ours


def test_both_threads_together_get_the_time_of_one(errands):
    begun, ends = threading.Semaphore(0), threading.Event()

    def hold() -> None:
        begun.release()
        ends.wait(20)

    errands.ask("devices", hold)
    errands.ask("open trace", hold, light=True)
    try:
        assert all(begun.acquire(timeout=10) for _ in range(2))
        begin = time.monotonic()
        assert not errands.close(2000)
        assert time.monotonic() - begin < 3.8
    finally:
        ends.set()
