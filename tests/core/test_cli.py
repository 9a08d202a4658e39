"""The command line: what it prints, and its exit codes."""

from __future__ import annotations

import getpass
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from core import cli
from core.cli import doctor


def test_doctor_says_what_a_bug_report_needs(capsys):
    assert cli.main(["doctor", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert {"python", "torch", "transformers", "memory_bytes", "kernels"} <= set(facts)
    assert facts["packages"]["numba"] != "unknown"


def test_doctor_names_no_person_and_no_place(monkeypatch, capsys):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    assert cli.main(["doctor"]) == 0
    printed = capsys.readouterr().out
    assert "hf_secret" not in printed
    assert str(Path.home()) not in printed
    assert getpass.getuser() not in printed.split()
    assert platform.node() not in printed


def test_doctor_writes_the_cure_for_missing_libraries(monkeypatch):
    monkeypatch.setattr(doctor, "_missing_libraries", lambda: ("libGL.so.1",))
    assert doctor.findings()["cure"].endswith("install libgl1")


BAD = {
    "k": (["run", "--k", "99"], "K is 99"),
    "temperature": (["run", "--temperature", "-1"], "Temperature is -1"),
    "two prompts": (["run", "--prompt", "a", "--prompt-file", "b"], "two prompts"),
    "empty prompt": (["run", "--demo", "--prompt", ""], "prompt is empty"),
    "no file": (["run", "--prompt-file", "missing.txt"], "missing.txt"),
    "repeats": (["race", "--repeats", "0"], "--repeats is 0"),
    "two targets": (["run", "--demo", "--target", "x"], "two targets"),
    "no tokens": (["sweep", "--max-new-tokens", "0"], "Max new tokens is 0"),
    "no place": (["models", "nowhere-at-all"], "nowhere-at-all"),
    "no checkpoint": (["inspect", "nowhere-at-all"], "nowhere-at-all"),
    "device": (["run", "--target", "demo", "--device", "abacus"], "abacus"),
    "stop": (["run", "--stop", ""], "Stop strings"),
}


@pytest.mark.parametrize(("words", "named"), BAD.values(), ids=BAD)
def test_bad_input_is_one_sentence_and_exit_code_2(words, named, capsys):
    assert cli.main(words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    sentence = captured.err.strip().splitlines()[-1]
    assert sentence.startswith("draftrace: ")
    assert named in sentence
    assert sentence.endswith(".")
    assert "Traceback" not in captured.err


@pytest.mark.parametrize("words", [["models", "--json"], ["run", "--help"]])
def test_a_reader_that_leaves_ends_a_command_quietly(words):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "core.cli", *words],
        env={k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"},
        stdout=writing,
        stderr=subprocess.PIPE,
        timeout=60,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (cli.READER_LEFT, b"")


def test_without_a_command_the_help_lists_all(capsys):
    assert cli.main([]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in cli.COMMANDS)
