"""Set Draftrace up in .venv and start it, or run its tests.

    python3 packaging/dev.py run  [--torch CHOICE] [options of the window]
    python3 packaging/dev.py test [--torch CHOICE] [options of pytest]

The first start installs; later starts are instant until pyproject.toml changes. Nothing
is installed outside .venv: where the system lacks a library, the line to type is shown.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import environment as env

REPORTS = env.ROOT / "build" / "tests"
ELSEWHERE = "window or screenshot or real_pair or gpu"
# Each test belongs to one lane; a lane that dies takes no other with it.
LANES = {
    "unit": f"not (slow or law or statistical or {ELSEWHERE})",
    "law": f"(slow or law or statistical) and not ({ELSEWHERE})",
    "window": "(window or screenshot) and not (real_pair or gpu)",
    "real pair": "real_pair and not (gpu or exhaustive)",
    "gpu": "gpu",
}
# Their tests share nothing, so each core takes some; a worker may hold 1 GB.
# Windows and the demo's weights want the machine to themselves.
SHARED_OUT = ("unit", "law")
# Windows need no torch: without the core's tests, their garbage is collected faster.
FOLDERS = {"window": ("tests/app",)}
WORKERS = ("-n", "logical", "--maxprocesses", "4", "--dist", "worksteal")
NOTHING_COLLECTED = 5  # pytest's exit code
COUNTS = ("tests", "failures", "errors", "skipped")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("command", choices=("run", "test"))
    parser.add_argument("--torch", choices=env.TORCH_CHOICES)
    options, rest = parser.parse_known_args(arguments)
    try:
        require_libraries()
        env.prepare(options.torch)
        return (run if options.command == "run" else test)(rest)
    except env.SetupError as error:
        env.say(str(error))
        return 2
    except KeyboardInterrupt:
        return 130


def require_libraries() -> None:
    """Stop where nothing could be drawn; only warn where just a window could not."""
    libraries = load_by_path(env.ROOT / "core" / "system_libraries.py")
    missing = libraries.missing()
    if not missing:
        return
    sentence = f"The system lacks {', '.join(missing)}. Install them with:"
    env.say(f"{sentence}\n\n    {libraries.apt_line(missing)}\n")
    if set(missing) & set(libraries.TO_DRAW):
        raise env.SetupError("Qt cannot start without these; run this again then.")


def load_by_path(path: Path) -> ModuleType:
    """Import a file of the program without the environment it runs in."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(arguments: list[str]) -> int:
    fetch_demo()
    return python("-m", "app", *arguments)


def fetch_demo() -> None:
    """Fetch the demo target if it is not there; the window opens without it, too."""
    shown = [str(env.PYTHON), "-m", "core.cli", "demo", "--json"]
    found = subprocess.run(shown, cwd=env.ROOT, capture_output=True, text=True)
    if '"present": true' in found.stdout:
        return
    env.say("Fetching the demo target, SmolLM2-135M-Instruct: 98 MB, once.")
    if python("-m", "core.cli", "demo", "--fetch", stdout=subprocess.DEVNULL):
        env.say("It could not be fetched now; the window can try again.")


def python(*arguments: str, stdout: int | None = None) -> int:
    command = [str(env.PYTHON), *arguments]
    return subprocess.run(command, cwd=env.ROOT, stdout=stdout).returncode


def test(arguments: list[str]) -> int:
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    if arguments:
        return python("-m", "pytest", *arguments)
    fetch_demo()
    REPORTS.mkdir(parents=True, exist_ok=True)
    results = [run_lane(name, marks) for name, marks in LANES.items()]
    print("\n".join(["", *(line for line, _ in results), total()]), flush=True)
    return int(any(code for _, code in results))  # a crash is a negative one


def run_lane(name: str, marks: str) -> tuple[str, int]:
    """Run one lane and return its line of the summary and its exit code."""
    report(name).unlink(missing_ok=True)
    if name == "gpu" and not env.sees_nvidia():
        return f"{name:<10} not run: there is no NVIDIA driver", 0
    print(f"\n{f' {name} ':=^79}", flush=True)
    start = time.monotonic()
    workers = WORKERS if name in SHARED_OUT else ()
    where = FOLDERS.get(name, ())
    options = ("-q", "-m", marks, f"--junitxml={report(name)}", *workers, *where)
    code = python("-m", "pytest", *options)
    seconds = time.monotonic() - start
    if code == NOTHING_COLLECTED:
        return f"{name:<10} no tests", 0
    state = "passed" if code == 0 else f"FAILED (exit code {code})"
    return f"{name:<10} {words(counts(name))} in {seconds:.0f} s: {state}", code


def report(name: str) -> Path:
    return REPORTS / f"{name.replace(' ', '-')}.xml"


def counts(name: str) -> tuple[int, ...]:
    """Return tests, failures, errors and skipped; zeros where a lane died."""
    try:
        suites = ElementTree.parse(report(name)).getroot().iter("testsuite")
    except (OSError, ElementTree.ParseError):
        return (0,) * len(COUNTS)
    values = [[int(suite.get(key, 0)) for key in COUNTS] for suite in suites]
    return tuple(map(sum, zip(*values, strict=True)))


def words(numbers: tuple[int, ...]) -> str:
    tests, failures, errors, skipped = numbers
    passed = tests - failures - errors - skipped
    return f"{passed} passed, {failures + errors} failed, {skipped} skipped"


def total() -> str:
    summed = tuple(map(sum, zip(*map(counts, LANES), strict=True)))
    return f"{'total':<10} {words(summed)}"


if __name__ == "__main__":
    if sys.version_info < (3, 11):  # noqa: UP036 - an old Python must be able to say so
        try:
            sys.exit(subprocess.call([env.find_python(), *sys.argv]))
        except env.SetupError as error:
            env.say(str(error))
            sys.exit(2)
    sys.exit(main(sys.argv[1:]))
