"""One line about what goes on, from the events; no Qt in here."""

from __future__ import annotations

from core.events import (
    Event,
    Lane,
    LoadProgress,
    PairLoaded,
    PrefillProgress,
    RaceFinished,
    RaceStarted,
    RoundFinished,
    RunFinished,
    RunStarted,
    StopReason,
)

ENDED = {
    StopReason.EOS: "end of text",
    StopReason.STOP: "stop string",
    StopReason.LENGTH: "length reached",
    StopReason.CONTEXT: "context full",
    StopReason.CANCELLED: "stopped",
    StopReason.ERROR: "error",
}


class RunStatus:
    """The words of the status line.

    Attributes:
        text: the line.
        measured: numbers of a run are on screen.
        loaded: the pair was loaded.
    """

    def __init__(self) -> None:
        self.text = "Ready"
        self.measured = self.loaded = False
        self._repeats: int | None = None
        self._repeat = 0
        self._emitted: dict[Lane, int] = {}

    def say(self, text: str) -> None:
        """Let the line be ``text``, unless that is empty."""
        self.text = text or self.text

    def on_event(self, event: Event) -> None:
        """Take one event into account."""
        match event:
            case LoadProgress():
                self.text = event.stage
            case PairLoaded():
                self.text, self.loaded = "Pair loaded", True
            case RaceStarted():
                self._repeats, self.measured = event.repeats, True
            case RunStarted():
                self._begin(event)
            case PrefillProgress():
                self.text = f"{self._name()} · reading the prompt"
            case RoundFinished():
                self._count(event)
            case RunFinished() if self._repeats is None:
                self.text = self._ended(event)
            case RaceFinished():
                self.text = "Race stopped" if event.cancelled else "Race finished"
                self._repeats = None
            case _:
                pass

    def _begin(self, event: RunStarted) -> None:
        self._repeat, self.measured = event.repeat, True
        self._emitted[event.lane] = 0
        self.text = self._name()

    def _count(self, event: RoundFinished) -> None:
        self._emitted[event.lane] = event.position + len(event.tokens)
        if self._repeats is None:
            self.text = f"{self._name()} · {self._emitted[event.lane]:,} tokens"
        else:
            self.text = self._name()

    def _name(self) -> str:
        if self._repeats is None:
            return "Run"
        if self._repeat == 0:
            return "Race · warm-up, not counted"
        return f"Race {self._repeat} of {self._repeats}"

    def _ended(self, event: RunFinished) -> str:
        emitted = event.summary.counts.emitted
        return f"Run · {emitted:,} tokens · {ENDED[event.summary.stop_reason]}"
