"""Ctrl+C ends every command with exit code 130 and one sentence; files stay whole.

A terminal sends it to every process of the group, so the tests do, too.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from core import cli
from core.lab.sweep_store import read_sweep
from core.trace import read_trace
from tests.core.tiny_sessions import checkpoint

pytestmark = pytest.mark.slow

LONG = ("--max-new-tokens", "450", "--ignore-eos")
# The command, what it says once it is in the middle of its work (None: its first
# output), and the file that it must leave.
CASES = {
    "run": (
        ["run", "{pair}", *LONG, "--raw", "--trace", "{out}/t.jsonl"],
        None,
        "t.jsonl",
    ),
    "run --json": (["run", "{pair}", *LONG, "--raw", "--json"], "Timing", None),
    "race": (
        ["race", "{pair}", *LONG, "--raw", "--repeats", "99", "--trace", "{out}/t"],
        "Repeat 1",
        "t",
    ),
    "sweep": (
        ["sweep", "{pair}", "--max-new-tokens", "99", "--out", "{out}/s"],
        "Sweeping",
        "s",
    ),
    "verify": (["verify", "{pair}", "--raw", "--prompt", "a b a b"], "Checking", None),
    "verify --mutant all": (
        ["verify", "{pair}", "--raw", "--prompt", "a b a b", "--mutant", "all"],
        "Timing",
        None,
    ),
    "bench": (["bench", "{pair}", "--repeats", "100"], "Timing the steps", None),
    "bench --random": (["bench", "--random", "4m", "4m"], "Making random", None),
    "distill": (
        ["distill", "{target}", "--out", "{out}/d", "--device", "cpu"],
        "Collecting",
        "d/work/begun.json",
    ),
}


@pytest.fixture(scope="module")
def pair(tmp_path_factory) -> list[str]:
    root = tmp_path_factory.mktemp("pair")
    longer = {"max_position_embeddings": 2048}  # the library's longest prompts fit
    target = checkpoint(root / "target", **longer)
    draft = checkpoint(root / "draft", layers=1, hidden_size=16, seed=1, **longer)
    return ["--target", str(target), "--draft", str(draft), "--device", "cpu"]


def start(words: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "core.cli", *words],
        env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )


def interrupt(program: subprocess.Popen[str], marker: str | None) -> tuple[str, str]:
    """Press Ctrl+C once it has said ``marker`` (None: its first output)."""
    said = ""
    assert program.stdout
    assert program.stderr
    if marker is None:
        said = program.stdout.read(1)
        os.killpg(program.pid, signal.SIGINT)
        out, err = program.communicate(timeout=120)
        return said + out, err
    while marker not in said:
        line = program.stderr.readline()
        assert line, said
        said += line
    os.killpg(program.pid, signal.SIGINT)
    out, err = program.communicate(timeout=120)
    return out, said + err


def words_of(command: list[str], pair: list[str], out: Path) -> list[str]:
    words: list[str] = []
    for word in command:
        words += pair if word == "{pair}" else [word.format(target=pair[1], out=out)]
    return words


@pytest.mark.parametrize(("command", "marker", "left"), CASES.values(), ids=CASES)
def test_ctrl_c_ends_a_command_with_one_sentence(command, marker, left, pair, tmp_path):
    with start(words_of(command, pair, tmp_path)) as program:
        try:
            out, err = interrupt(program, marker)
        finally:
            program.kill()
    assert program.returncode == cli.CANCELLED, err
    assert "Traceback" not in err
    assert err.splitlines()[-1] == "draftrace: cancelled."
    assert err.count("cancelled.") == 1
    if "--json" in command and out:
        assert json.loads(out)["stop_reason"] == "cancelled"
    if left:
        check_file(tmp_path / left)


def check_file(file: Path) -> None:
    """What was written is there, and can be read or gone on with."""
    assert file.exists()
    if file.name == "begun.json":
        assert json.loads(file.read_text())
    elif file.name == "s":
        assert read_sweep(file).header.key
    else:
        assert read_trace(file).events


INTERRUPTED_IMPORT = """
import importlib.abc, os, signal, sys

# What a background job of a script inherits ignores Ctrl+C; here it counts.
signal.signal(signal.SIGINT, signal.default_int_handler)

class Interrupting(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[-1]:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
import {door}
sys.exit({door}.main(["inspect", "demo"]))
"""


@pytest.mark.parametrize(
    ("door", "imported"),
    [
        ("core.cli", "core.cli.inspect"),
        ("app.__main__", "core"),
        ("app.__main__", "core.cli"),
        ("app.__main__", "core.errors"),
        ("app.__main__", "core.cli.inspect"),
    ],
)
def test_ctrl_c_while_a_command_is_imported_is_quiet(door, imported):
    """Somebody changes their mind at once; it was a page of traceback."""
    program = [sys.executable, "-c", INTERRUPTED_IMPORT.format(door=door), imported]
    ended = subprocess.run(program, capture_output=True, text=True, timeout=60)
    said = (ended.returncode, ended.stdout, ended.stderr)
    assert said == (130, "", "draftrace: cancelled.\n")
