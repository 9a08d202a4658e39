"""The script that sets the program up: what it chooses, what it leaves out."""

from __future__ import annotations

import importlib
import itertools
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from core import system_libraries

PACKAGING = Path(__file__).parent.parent / "packaging"
MARKS = ("slow", "law", "statistical", "window", "screenshot", "real_pair", "gpu")
ON_OFFER = ["2.15.0", "2.14.0", "2.13.0+cpu", "2.13.0", "2.12.1+cpu", "2.11.0", "2.9.1"]


@pytest.fixture
def dev(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(PACKAGING))
    for name in ("dev", "environment"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module("dev")


@pytest.fixture
def env(dev: ModuleType) -> ModuleType:
    return dev.env


def offer(env: ModuleType, monkeypatch: pytest.MonkeyPatch, *versions: str) -> None:
    class Done:
        stdout = f"torch (2.15.0)\nAvailable versions: {', '.join(versions)}\n"

    monkeypatch.setattr(env.subprocess, "run", lambda *args, **options: Done)


def test_the_newest_cpu_build_in_our_range_is_taken(env, monkeypatch):
    offer(env, monkeypatch, *ON_OFFER)
    assert env.cpu_build() == "torch==2.13.0+cpu"


def test_a_cuda_build_excludes_the_cpu_build_that_pip_would_prefer(env, monkeypatch):
    offer(env, monkeypatch, *ON_OFFER)
    assert env.cuda_build() == "torch==2.13.0,!=2.13.0+cpu"


def test_without_builds_on_offer_pip_chooses_within_our_range(env, monkeypatch):
    offer(env, monkeypatch)
    assert env.cpu_build() is None
    assert env.cuda_build() is None
    assert env.torch_requirement().startswith("torch>=")


@pytest.mark.parametrize(
    ("choice", "nvidia", "installed"),
    [
        ("auto", False, "torch==2.13.0+cpu"),
        ("auto", True, "torch==2.13.0,!=2.13.0+cpu"),
        ("cpu", True, "torch==2.13.0+cpu"),
        ("cuda", False, "torch==2.13.0,!=2.13.0+cpu"),
    ],
)
def test_the_driver_and_the_person_choose_torch(
    env, monkeypatch, choice: str, nvidia: bool, installed: str
):
    offer(env, monkeypatch, *ON_OFFER)
    asked: list[tuple[str, ...]] = []
    monkeypatch.setattr(env, "sees_nvidia", lambda: nvidia)
    monkeypatch.setattr(env, "pip", lambda *arguments: asked.append(arguments))
    env.install_torch(choice)
    assert asked == [("install", installed)]


def test_an_environment_is_made_once(env, monkeypatch, tmp_path):
    done: list[object] = []
    monkeypatch.setattr(env, "STAMP", tmp_path / "stamp.json")
    monkeypatch.setattr(env, "works", lambda: True)
    monkeypatch.setattr(env, "install_torch", done.append)
    monkeypatch.setattr(env, "pip", lambda *arguments: done.append(arguments[0]))
    env.prepare(None)
    assert done == ["auto", "install"]
    env.prepare(None)
    env.prepare("auto")
    assert done == ["auto", "install"]
    env.prepare("cpu")
    assert done == ["auto", "install", "cpu", "install"]
    env.prepare(None)  # what was chosen last stays
    assert done == ["auto", "install", "cpu", "install"]


def test_a_changed_pyproject_installs_again_and_keeps_torch(env, monkeypatch, tmp_path):
    done: list[object] = []
    monkeypatch.setattr(env, "STAMP", tmp_path / "stamp.json")
    monkeypatch.setattr(env, "works", lambda: True)
    monkeypatch.setattr(env, "install_torch", done.append)
    monkeypatch.setattr(env, "pip", lambda *arguments: done.append(arguments[0]))
    env.prepare("cpu")
    monkeypatch.setattr(env, "fingerprint", lambda: "another")
    env.prepare(None)
    assert done == ["cpu", "install", "install"]


def test_no_suitable_python_is_one_sentence(env, monkeypatch):
    monkeypatch.setattr(env, "suitable", lambda python: False)
    with pytest.raises(env.SetupError, match=r"needs Python 3\.11, 3\.12 or 3\.13"):
        env.find_python()


def test_every_test_belongs_to_exactly_one_lane_but_the_exhaustive_ones(dev):
    for marks in itertools.product((False, True), repeat=len(MARKS)):
        carried = dict(zip(MARKS, marks, strict=True)) | {"exhaustive": False}
        lanes = [n for n, wanted in dev.LANES.items() if eval(wanted, {}, carried)]
        assert len(lanes) == 1, (carried, lanes)
    grid = dict.fromkeys(MARKS, False) | dict.fromkeys(
        ("slow", "real_pair", "exhaustive"), True
    )
    assert not any(eval(wanted, {}, grid) for wanted in dev.LANES.values())


def test_the_lane_of_windows_finds_all_of_them(dev):
    (folder,) = dev.FOLDERS["window"]
    root = Path(__file__).parent
    marked = re.compile(r"pytest\.mark\.(window|screenshot)\b")
    files = [f for f in root.rglob("test_*.py") if marked.search(f.read_text("utf-8"))]
    assert len(files) > 5
    assert all(f.is_relative_to(root.parent / folder) for f in files)


def test_a_lane_that_died_counts_nothing(dev, monkeypatch, tmp_path):
    monkeypatch.setattr(dev, "REPORTS", tmp_path)
    assert dev.counts("unit") == (0, 0, 0, 0)
    (tmp_path / "unit.xml").write_text("<testsuites>")
    assert dev.counts("unit") == (0, 0, 0, 0)
    report = '<testsuites><testsuite tests="9" failures="1" errors="1" skipped="2"/>'
    (tmp_path / "unit.xml").write_text(report + "</testsuites>")
    assert dev.words(dev.counts("unit")) == "5 passed, 2 failed, 2 skipped"


def test_missing_libraries_are_named_with_the_line_to_type(monkeypatch):
    monkeypatch.setattr(system_libraries.sys, "platform", "linux")
    monkeypatch.setattr(system_libraries, "_loads", lambda name: "xcb" not in name)
    missing = system_libraries.missing()
    assert missing
    assert set(missing) <= set(system_libraries.TO_SHOW_A_WINDOW)
    line = system_libraries.apt_line(missing)
    assert line.startswith("sudo apt-get install libxcb-cursor0 ")


def test_other_systems_miss_no_library(monkeypatch):
    monkeypatch.setattr(system_libraries.sys, "platform", "darwin")
    assert system_libraries.missing() == ()
