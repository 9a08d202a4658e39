"""Drive the real window on a real (virtual) screen: see it, click it, read what it did.

    .venv/bin/python packaging/smoke_test.py [--pictures FOLDER]

Starts its own screen (Xvfb, openbox), so that nothing else on the machine is touched.
Two starts: one races by itself and must leave a picture; in the other one a mouse click
on Run must decode tokens, and a key must save them as a trace. Needs the demo target.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from core.events import RoundFinished, RunFinished
from core.metrics import is_consistent
from core.trace import Trace, read_trace

T = TypeVar("T")
ROOT = Path(__file__).resolve().parent.parent
SIZE = (1280, 720)
START_SECONDS, RUN_SECONDS = 120, 600
NAME, THEME = "Draftrace", "dark"
BAR = 120  # pixels from the top in which the buttons are
FEWEST_PIXELS = 400  # of a button; a focus frame has fewer


class Failed(Exception):
    """The window did not do what it must; the text says what."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    default = ROOT / "build" / "pictures"
    parser.add_argument("--pictures", type=Path, default=default)
    pictures: Path = parser.parse_args().pictures
    pictures.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home, screen() as display:
        machine = Machine(display, Path(home), pictures.resolve())
        try:
            races_by_itself(machine)
            runs_on_a_click(machine)
        except Failed as failure:
            machine.picture("failed")
            print(f"FAILED: {failure}\n--- log\n{machine.log()}", flush=True)
            return 1
    print(f"The window started, raced, ran and saved; pictures are in {pictures}.")
    return 0


@contextlib.contextmanager
def screen() -> Iterator[str]:
    """Start a virtual screen on a free display, with a window manager."""
    reader, writer = os.pipe()
    size = "x".join(map(str, SIZE))
    command = ["Xvfb", "-displayfd", str(writer), "-screen", "0", f"{size}x24"]
    command += ["-nolisten", "tcp"]
    with process(command, pass_fds=(writer,), stderr=subprocess.DEVNULL):
        os.close(writer)
        with os.fdopen(reader) as lines:
            display = f":{lines.readline().strip()}"
        environment = {**os.environ, "DISPLAY": display}
        with process(["openbox"], env=environment, stderr=subprocess.DEVNULL):
            yield display


@contextlib.contextmanager
def process(command: list[str], **options: object) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program for as long as the block lasts."""
    started = subprocess.Popen(command, **options)  # type: ignore[call-overload]
    try:
        yield started
    finally:
        started.terminate()
        try:
            started.wait(timeout=20)
        except subprocess.TimeoutExpired:
            started.kill()
            started.wait()


class Machine:
    """A person's screen, settings folder and log, apart from everybody else's."""

    def __init__(self, display: str, home: Path, pictures: Path) -> None:
        self.home, self.pictures = home, pictures
        self.environment = {
            **os.environ,
            "DISPLAY": display,
            "QT_QPA_PLATFORM": "xcb",
            "XDG_CONFIG_HOME": str(home / "config"),
            "XDG_STATE_HOME": str(home / "state"),
            "XDG_DATA_HOME": str(home / "data"),
        }

    def window(self, *options: str) -> list[str]:
        size = "x".join(map(str, SIZE))
        return [sys.executable, "-m", "app", "--size", size, *options]

    def read(self, *command: str) -> bytes:
        """Run a tool on this screen and return what it writes."""
        options = {"env": self.environment, "capture_output": True, "timeout": 60}
        return subprocess.run(command, **options).stdout

    def do(self, *command: str) -> str:
        """Run a tool on this screen and return what it prints."""
        return self.read(*command).decode().strip()

    def press(self, window: str, keys: str) -> None:
        self.do("xdotool", "windowfocus", "--sync", window, "key", keys)

    def find(self, name: str = NAME) -> str:
        """Return the id of a visible window, or an empty text."""
        found = self.do("xdotool", "search", "--onlyvisible", "--name", name)
        return found.split("\n")[-1]

    def picture(self, name: str) -> None:
        self.do("import", "-window", "root", str(self.pictures / f"{name}.png"))

    def log(self) -> str:
        logs = sorted(self.home.rglob("*.log"))
        return "\n".join(log.read_text(encoding="utf-8") for log in logs)


def wait_for(what: str, there: Callable[[], T | None], seconds: float) -> T:
    """Return the first true answer of ``there``."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if answer := there():
            return answer
        time.sleep(0.25)
    raise Failed(f"{what} did not come within {seconds:.0f} s")


def races_by_itself(machine: Machine) -> None:
    picture = machine.pictures / "race.png"
    picture.unlink(missing_ok=True)
    options = ("--autorun", "race", "--max-new-tokens", "32", "--quit")
    command = machine.window(*options, "--screenshot", str(picture))
    with process(command, env=machine.environment, cwd=ROOT) as window:
        wait_for("the end of the race", lambda: window.poll() is not None, RUN_SECONDS)
    if window.returncode or not picture.is_file():
        raise Failed(f"the race ended with exit code {window.returncode}")


def runs_on_a_click(machine: Machine) -> None:
    command = machine.window("--theme", THEME, "--max-new-tokens", "32")
    with process(command, env=machine.environment, cwd=ROOT) as window:
        frame = str(wait_for("the window", machine.find, START_SECONDS))
        wait_for("its log", lambda: "ready" in machine.log(), START_SECONDS)
        wait_for("the Race button", lambda: race_button(machine), START_SECONDS)
        machine.picture("started")
        click_run(machine)
        trace = wait_for("the run", lambda: saved(machine, frame), RUN_SECONDS)
        machine.picture("ran")
        check(trace)
        machine.press(frame, "ctrl+q")
        wait_for("the end", lambda: window.poll() is not None, START_SECONDS)
    if window.returncode:
        raise Failed(f"the window left with exit code {window.returncode}")
    for line in machine.log().splitlines():
        if " ERROR " in line or " CRITICAL " in line:
            raise Failed(f"the log says: {line}")


def race_button(machine: Machine) -> tuple[int, int, int, int] | None:
    """Find Race, the one button in the accent colour: left, top, right, bottom."""
    file = ROOT / "resources" / "themes" / f"{THEME}.toml"
    theme = tomllib.loads(file.read_text(encoding="utf-8"))
    ground = bytes.fromhex(theme["surfaces"]["accent_fill"][1:])
    command = ["import", "-window", "root", "-crop", f"{SIZE[0]}x{BAR}+0+0"]
    rows = machine.read(*command, "-depth", "8", "rgb:-")
    found = [i // 3 for i in range(0, len(rows), 3) if rows[i : i + 3] == ground]
    if len(found) < FEWEST_PIXELS:
        return None
    columns, lines = [i % SIZE[0] for i in found], [i // SIZE[0] for i in found]
    return min(columns), min(lines), max(columns), max(lines)


def click_run(machine: Machine) -> None:
    """Click the button to the right of Race."""
    _, top, right, bottom = wait_for("Race", lambda: race_button(machine), 10)
    x, y = right + (bottom - top), (top + bottom) // 2
    machine.do("xdotool", "mousemove", "--sync", str(x), str(y), "click", "1")


def saved(machine: Machine, frame: str) -> Trace | None:
    """Save what there is by keyboard; return it once the run is over."""
    time.sleep(2)
    path = machine.home / f"run-{time.monotonic_ns()}.jsonl"
    machine.press(frame, "ctrl+s")
    try:
        dialog = str(wait_for("it", lambda: machine.find("Save trace"), 5))
    except Failed:
        return None  # nothing to save yet
    machine.do("xdotool", "windowfocus", "--sync", dialog)
    machine.do("xdotool", "key", "ctrl+a", "type", "--delay", "15", str(path))
    machine.do("xdotool", "key", "Return")
    wait_for("the trace on the disk", path.exists, 20)
    trace = read_trace(path)
    over = any(isinstance(event, RunFinished) for event in trace.events)
    return trace if over else None


def check(trace: Trace) -> None:
    """A run on a click decoded tokens, and its counts add up."""
    summary = next(e.summary for e in trace.events if isinstance(e, RunFinished))
    rounds = [e for e in trace.events if isinstance(e, RoundFinished)]
    tokens = sum(len(event.tokens) for event in rounds)
    print(f"run: {summary.counts}, {summary.text!r}", flush=True)
    if not tokens or tokens != summary.counts.emitted:
        raise Failed(f"the trace has {tokens} tokens of {summary.counts.emitted}")
    if not is_consistent(summary.counts):
        raise Failed(f"the counts do not add up: {summary.counts}")


if __name__ == "__main__":
    sys.exit(main())
