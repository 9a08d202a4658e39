"""A window to put views in, and the events of a made-up run."""

from __future__ import annotations

import pytest
import story
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app import theme


@pytest.fixture
def dark(qapp):
    theme.apply(qapp, "dark")
    return theme.Theme.current()


@pytest.fixture
def show(qtbot, dark):
    """Show a view in a window of its own and return it."""

    windows = []  # qtbot keeps weak references only

    def put(view: QWidget, width: int = 340, height: int = 380) -> QWidget:
        window = QWidget()
        windows.append(window)
        layout = QVBoxLayout(window)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(view)
        qtbot.addWidget(window)
        window.resize(width, height)
        window.show()
        qtbot.waitExposed(window)
        return view

    return put


@pytest.fixture
def rounds():
    return story.code_rounds()
