"""A real start in a fresh process: what shows when, and who imports what."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from app.__main__ import main
from core.cli import COMMANDS

pytestmark = pytest.mark.window

FIRST_SHOW = """
import sys
from PySide6.QtCore import QEvent, QObject, QSettings
from PySide6.QtWidgets import QApplication
from app.application import Application
from app.main_window import MainWindow
from core.session import Session

class Watcher(QObject):
    def eventFilter(self, target, event):
        if isinstance(target, MainWindow) and event.type() == QEvent.Type.Paint:
            slow = {"torch", "transformers", "numba", "pyqtgraph"} & set(sys.modules)
            print("first paint", sorted(slow))
            target.removeEventFilter(self)
            target.close()
        return False

app = QApplication([])
settings = QSettings(sys.argv[1], QSettings.Format.IniFormat)
application = Application(app, Session(), settings)
watcher = Watcher()
application.window.installEventFilter(watcher)
application.start()
app.exec()
print("left")
"""


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
    )


def test_the_window_is_painted_before_anything_slow_is_imported(tmp_path):
    done = python("-c", FIRST_SHOW, str(tmp_path / "s.ini"))
    assert "first paint []" in done.stdout, done.stderr
    assert "left" in done.stdout, done.stderr
    assert done.returncode == 0, done.stderr


def test_a_command_runs_without_qt():
    code = (
        "import sys\n"
        "from app.__main__ import main\n"
        "try:\n"
        "    main(['run', '--help'])\n"
        "except SystemExit as leave:\n"
        "    assert leave.code == 0\n"
        "assert not any(name.startswith('PySide6') for name in sys.modules)\n"
    )
    done = python("-c", code)
    assert done.returncode == 0, done.stderr
    assert "--prompt" in done.stdout


def test_an_unknown_option_is_named_and_leaves_with_code_2():
    done = python("-m", "app", "--colour", "blue")
    assert done.returncode == 2
    assert "--colour" in done.stderr


@pytest.mark.parametrize(
    "wrong", [("--k", "17"), ("--temperature", "-1"), ("--max-new-tokens", "9999999")]
)
def test_a_setting_out_of_its_range_is_a_sentence_before_the_window(wrong, capsys):
    assert main([*wrong, "--quit"]) == 2
    sentence = capsys.readouterr().err
    assert sentence.startswith("draftrace: ")
    assert f"is {wrong[1]}; choose a value from" in sentence


def test_the_windows_help_names_the_commands():
    done = python("-m", "app", "--help")
    assert all(command in done.stdout for command in COMMANDS)


def test_a_picture_can_be_scripted(tmp_path):
    picture = tmp_path / "window.png"
    done = python(
        *("-m", "app", "--quit", "--screenshot", str(picture)),
        *("--theme", "dark", "--size", "1280x720", "--target", str(tmp_path / "none")),
    )
    assert done.returncode == 0, done.stderr
    assert picture.stat().st_size > 10_000


def test_a_window_that_leaves_by_itself_prints_what_went_wrong(tmp_path):
    missing = tmp_path / "gone.jsonl"
    done = python("-m", "app", "--quit", "--open", str(missing))
    assert done.returncode == 2
    assert done.stderr.count("gone.jsonl") == 1, done.stderr
