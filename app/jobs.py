"""What a job is, what it tells, and the states that it goes through."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from core.config import PairConfig
from core.control import Control
from core.events import Event, LoadProgress
from core.session import Session

Finding = Any  # a frozen dataclass that is no Event: CheckStarted, CellFinished, ...
Work = Callable[[Control], Iterator[Event | Finding]]


class State(StrEnum):
    """What the controller is doing."""

    IDLE = "idle"
    LOADING = "loading"
    RUNNING = "running"
    PAUSED = "paused"
    WORKING = "working"  # in the lab: it can be stopped, not paused
    STOPPING = "stopping"

    @property
    def is_busy(self) -> bool:
        """Whether a job is under way."""
        return self is not State.IDLE


def _nothing(control: Control) -> Iterator[Event]:
    return iter(())


@dataclass(frozen=True, slots=True)
class Job:
    """One piece of long work, and who steers it.

    Attributes:
        work: begins it, given the control; called in the worker's thread.
        control: the person's wishes, shared with the window.
        pair: that is in memory once it has begun; None if it loads none.
        run_id: of what it decodes; empty if it does not decode.
        racing: it decodes in both lanes.
        in_lab: it is one of the lab.
    """

    work: Work = _nothing
    control: Control = field(default_factory=Control)
    pair: PairConfig | None = None
    run_id: str = ""
    racing: bool = False
    in_lab: bool = False

    @property
    def lanes(self) -> int:
        """How many lanes read the prompt before the first round."""
        return 2 if self.racing else 1


def loading_first(session: Session, pair: PairConfig, work: Work) -> Work:
    """Return work that loads ``pair`` before it begins, unless stopped by then."""

    def events(control: Control) -> Iterator[Event | Finding]:
        yield from session.load(pair, control)
        if not control.should_stop():
            yield from work(control)

    return events


def fetching_demo(file: str, report: Callable[[LoadProgress], None]) -> Work:
    """Return work that fetches the demo target, or makes it from ``file``.

    It reports from inside the call, which takes callbacks, and yields at its end.
    """

    def events(control: Control) -> Iterator[Event]:
        from core.checkpoints import demo
        from core.checkpoints.progress import Cancelled

        try:
            if file:
                demo.install_demo_from(Path(file), report, control.should_stop)
            else:
                demo.fetch_demo(report, control.should_stop)
        except Cancelled:
            return
        yield LoadProgress("The demo model is ready", 1.0)

    return events
