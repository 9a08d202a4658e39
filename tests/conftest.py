"""What every test stands on: no screen, no traces on the machine, no thread left."""

from __future__ import annotations

import os

# Before any import of Qt, also by a plugin: a test never opens a real window.
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import gc
import random
import threading

import pytest

pytest_plugins = ["tests.faults"]


def _take_one_core():
    """Keep a worker of pytest-xdist to a core; kernels that share cores spin."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if worker and hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        number = int(worker.removeprefix("gw"))
        os.sched_setaffinity(0, {cores[number % len(cores)]})


_take_one_core()


def pytest_collection_modifyitems(items):
    """Let pass what the offscreen platform says about every window that shows."""
    for item in items:
        item.add_marker(pytest.mark.qt_log_ignore("propagateSizeHints"))


def pytest_collection_finish():
    """Leave what imports made out of later collections: a third of a second each."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _fixed_seeds() -> None:
    """Make whoever still uses a global generator do so repeatably."""
    random.seed(0)


@pytest.fixture(autouse=True)
def _temporary_user_folders(request, tmp_path, monkeypatch):
    """Keep settings, logs and caches of a test out of the person's own folders.

    Tests of the real pair keep the real cache: it holds the demo target.
    """
    if request.node.get_closest_marker("real_pair"):
        return
    monkeypatch.setenv("DRAFTRACE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture(autouse=True)
def _garbage_in_the_main_thread(request):
    """Collect between window tests only, as the program does (app/garbage.py)."""
    if not request.node.get_closest_marker("window"):
        yield
        return
    from PySide6.QtCore import QCoreApplication, QEvent

    gc.disable()
    yield
    # Without a running event loop, dropped widgets would live on and be restyled.
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def _no_thread_is_left(request):
    """Fail a window test that leaves a Python thread or a Qt thread behind."""
    before = set(threading.enumerate())
    yield
    if not request.node.get_closest_marker("window"):
        return
    left = [t for t in threading.enumerate() if t not in before and t.is_alive()]
    # A QThread that once ran Python code is known to threading as a dummy; it counts
    # as left only while its Qt thread runs, which closing has waited for.
    left = [t for t in left if not isinstance(t, threading._DummyThread)]
    assert not left, f"threads left running: {left}"
