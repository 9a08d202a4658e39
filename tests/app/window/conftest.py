"""The whole window with a session that plays a script."""

from __future__ import annotations

import pytest

from tests.app.started import started
from tests.fakes import ScriptedSession


@pytest.fixture
def session():
    return ScriptedSession()


@pytest.fixture
def application(qtbot, qapp, session, tmp_path, monkeypatch):
    """The window as a person meets it: shown, and the disk looked at."""
    with started(qtbot, qapp, session, tmp_path, monkeypatch) as application:
        yield application


@pytest.fixture
def window(application):
    return application.window
