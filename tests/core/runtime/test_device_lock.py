"""One piece of long work at a time."""

from __future__ import annotations

import subprocess
import sys
import threading

from core.events import LoadProgress
from core.runtime.clock import Clock
from core.runtime.device_lock import DeviceLock


def test_the_holder_has_a_name_until_it_lets_go():
    lock = DeviceLock()
    assert lock.holder() is None
    with lock.acquire("a race") as held:
        assert held
        assert lock.holder() == "a race"
    assert lock.holder() is None


def test_who_waits_can_give_up():
    lock = DeviceLock()
    with lock.acquire("a load"), lock.acquire("a run", lambda: True) as held:
        assert not held
        assert lock.holder() == "a load"
    assert lock.holder() is None


def test_work_in_turn_says_what_it_waits_for_and_holds_the_device():
    lock = DeviceLock()
    begun = lock.in_turn("a run", lambda: False, lambda: [lock.holder()])
    assert list(begun) == ["a run"]
    with lock.acquire("a load"):
        given_up = lock.in_turn("a run", lambda: True, lambda: ["begun"])
        assert list(given_up) == [LoadProgress("Waiting for a load to end")]
    assert lock.holder() is None


def test_those_who_wait_come_in_order():
    lock, order, waiting = DeviceLock(), [], []

    def work(name: str) -> None:
        with lock.acquire(name):
            order.append(name)

    with lock.acquire("first"):
        for name in ("second", "third", "fourth"):
            thread = threading.Thread(target=work, args=(name,))
            thread.start()
            waiting.append(thread)
            while len(lock._queue) < len(waiting):
                pass
    for thread in waiting:
        thread.join()
    assert order == ["second", "third", "fourth"]


def test_an_error_lets_go():
    lock = DeviceLock()
    try:
        with lock.acquire("a sweep"):
            raise RuntimeError
    except RuntimeError:
        pass
    assert lock.holder() is None


def test_a_generator_may_be_closed_by_another_thread():
    lock = DeviceLock()

    def work():
        with lock.acquire("a run"):
            yield

    running = work()
    next(running)
    closer = threading.Thread(target=running.close)
    closer.start()
    closer.join()
    assert lock.holder() is None


def test_the_lock_comes_without_torch():
    code = "import core.runtime.device_lock, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_clock_goes_forward():
    clock = Clock("cpu")
    first = clock.now_ms()
    assert clock.now_ms() >= first
