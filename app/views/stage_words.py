"""What the Present page says. Pure text from events."""

from __future__ import annotations

from app.views.verdict_sentences import times
from core.events import JudgedSpeed, RaceFinished, RepeatFinished, RunStarted

LIVE, LAST, DEMO = "live", "last", "demo"
SOURCES = {
    LIVE: "a race, live",
    LAST: "the last race again",
    DEMO: "the recorded demo",
}
HEADING = "The same target, with and without a draft"
READY = "Press Start, or Space."
COMING = "Ready…"
CANNOT = "This cannot race yet; the Decode page says why."
TRUE_SPEED = "At true speed, from the lanes' own clocks"
_ROLES = {JudgedSpeed.HELPS: "accepted", JudgedSpeed.HURTS: "resampled"}


def heading(event: RunStarted) -> str:
    """Return what decodes, and what drafts for it."""
    if event.draft is None:
        return f"{event.target.name}, with and without a draft"
    return f"{event.target.name} with the draft {event.draft.name}"


def repeat(event: RunStarted, repeats: int) -> str:
    """Return which repeat of a race goes on."""
    if event.warm_up:
        return "Warming up…"
    return f"Race {event.repeat} of {repeats}" if event.repeat else ""


def repeat_gave(event: RepeatFinished) -> str:
    """Return what a repeat of a race gave."""
    return f"Race {event.repeat}: {times(event.speedup)}"


def verdict(event: RaceFinished) -> tuple[str, str]:
    """Return role and sentence of the verdict."""
    median = event.speedup.median
    if median is None:
        return "muted", "Stopped before a race was complete."
    what = "faster than plain" if round(median, 2) > 1 else "the speed of plain"
    role = _ROLES.get(event.verdict, "text")
    return role, f"{times(median)} {what}, {_same(event)}."


def _same(event: RaceFinished) -> str:
    if event.identical:
        return "and the very same tokens"
    if event.identical is None:
        return "and the same distribution"
    return "though the texts part at a near tie"
