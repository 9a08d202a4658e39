"""Telling how long work goes on, and ending it when asked."""

from __future__ import annotations

from collections.abc import Callable

from core.events import LoadProgress

OnProgress = Callable[[LoadProgress], None]
ShouldStop = Callable[[], bool]


class Cancelled(Exception):
    """The person cancelled; whoever started the work catches this. Not an error."""


def ignore(progress: LoadProgress) -> None:
    """Take progress and tell nobody."""


def never() -> bool:
    """Never ask to stop."""
    return False


class Work:
    """One piece of long work: what it reports to, and whether it may go on.

    Args:
        on_progress: called with every LoadProgress.
        should_stop: asked before each; True ends the work.
    """

    def __init__(
        self, on_progress: OnProgress = ignore, should_stop: ShouldStop = never
    ) -> None:
        self.on_progress = on_progress
        self.should_stop = should_stop

    def check(self) -> None:
        """Go on, or leave.

        Raises:
            Cancelled: if the person asked to stop.
        """
        if self.should_stop():
            raise Cancelled

    def report(
        self, stage: str, fraction: float | None = None, detail: str = ""
    ) -> None:
        """Say what is being done now.

        Raises:
            Cancelled: if the person asked to stop.
        """
        self.check()
        self.on_progress(LoadProgress(stage, fraction, detail))

    def report_bytes(self, stage: str, done: int, total: int) -> None:
        """Say how many bytes of ``total`` are done."""
        fraction = min(1.0, done / total) if total else None
        self.report(stage, fraction, f"{megabytes(done)} of {megabytes(total)}")


def megabytes(num_bytes: int) -> str:
    """Return a size as people read it, for example ``98 MB`` or ``1.5 GB``."""
    if num_bytes >= 1e9:
        return f"{num_bytes / 1e9:.1f} GB"
    if 0 < num_bytes < 1e6:
        return f"{num_bytes / 1e3:.0f} kB"
    return f"{num_bytes / 1e6:.0f} MB"
