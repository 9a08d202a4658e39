"""What a race says, in words. Pure text from events."""

from __future__ import annotations

import re
from dataclasses import dataclass

from app.views.labels import count, milliseconds, number
from core.events import (
    Divergence,
    DivergenceKind,
    JudgedSpeed,
    RaceFinished,
    RepeatFinished,
    Speedup,
)

SHARED = "Lanes share the device; wall time is their sum."
NONE = "–"
EMPTY = "Press Race to measure this pair against plain decoding."


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the verdict bar shows.

    Attributes:
        figure: the speed-up, or a dash.
        headline: what it means.
        detail: break-even and total time.
        role: the colour role of the figure.
        chip: one word with a sign, so that no colour is needed.
    """

    figure: str
    headline: str
    detail: str
    role: str
    chip: str = ""

    def shorter(self) -> tuple[str, ...]:
        """Return headlines for where the whole one has no room, the longest first."""
        brief = self.headline.replace(" over ", ", ").replace(", and the ", ", ")
        return brief, re.sub(r" \(.*?\)| against .*(?=\.)", "", brief)

    def shorter_details(self) -> tuple[str, ...]:
        """Return the detail's first sentence, its first half, and a hint of it."""
        first = self.detail.split(". ")[0].removesuffix(".")
        return f"{first}.", f"{first.split(';')[0]}.", "…"


_ROLES = {
    JudgedSpeed.HELPS: ("accepted", "▲ helps"),
    JudgedSpeed.NEUTRAL: ("muted", "● neutral"),
    JudgedSpeed.HURTS: ("resampled", "▼ hurts"),
    JudgedSpeed.TOO_SHORT: ("muted", "too short to judge"),
    JudgedSpeed.NONE: ("muted", "no verdict yet"),
}


def empty() -> Verdict:
    """Return what stands there before any race."""
    return Verdict(NONE, EMPTY, "", "muted")


def running(repeat: int, repeats: int, last: RepeatFinished | None) -> Verdict:
    """Return what stands there during a race; repeat 0 is the warm-up."""
    where = f"Repeat {repeat} of {repeats}" if repeat else "Warm-up, not counted"
    if last is None:
        return Verdict(NONE, f"{where}.", "", "muted")
    return Verdict(times(last.speedup), f"{where}.", _last(last), "muted")


def finished(event: RaceFinished, advice: str = "") -> Verdict:
    """Return the verdict of a race, with what to do where the drafter does not help."""
    role, chip = _ROLES[event.verdict]
    wanted = event.verdict in (JudgedSpeed.HURTS, JudgedSpeed.NEUTRAL)
    detail = _detail(event, advice if wanted else "")
    return Verdict(times(event.speedup.median), _headline(event), detail, role, chip)


def times(ratio: float | None) -> str:
    """Return a ratio as ``1.81×``, or a dash."""
    return NONE if ratio is None else f"{ratio:.2f}×"


def _last(last: RepeatFinished) -> str:
    gave = f"Repeat {last.repeat} gave {times(last.speedup)}"
    return f"{gave}." if last.counted else f"{gave}: K changed, shown, not counted."


def _headline(event: RaceFinished) -> str:
    speedup = event.speedup
    if event.cancelled and speedup.median is None:
        return "Stopped before a repeat was complete."
    if speedup.median is None:
        return "No repeat could be counted."
    return f"{_faster(speedup.median)} {_spread(speedup)}, {_same(event)}"


def _faster(ratio: float) -> str:
    # "0.83× slower" could be read two ways.
    return "faster than plain" if round(ratio, 2) > 1 else "the speed of plain"


def _spread(speedup: Speedup) -> str:
    over = f"over {count(speedup.repeats, 'race')}"
    if speedup.low is None or speedup.high is None or speedup.repeats < 2:
        return f"({over})"
    return f"({speedup.low:.2f} to {speedup.high:.2f} {over})"


def _same(event: RaceFinished) -> str:
    if event.identical is None:
        return "from the same distribution"
    if event.identical:
        return "and the same tokens"
    return _divergence(event.divergence)


def _divergence(divergence: Divergence | None) -> str:
    if divergence is None:
        return "but not the same tokens"
    where = f"the texts part at token {divergence.position + 1}"
    gap = "" if divergence.gap is None else f", gap {divergence.gap:.3g}"
    if divergence.kind is DivergenceKind.NEAR_TIE:
        return f"{where}: a near tie{gap}"
    return f"{where} and should not: a fault{gap}"


def _detail(event: RaceFinished, advice: str) -> str:
    wins = event.break_even_acceptance is not None
    use = "" if wins or advice else ": use K = 0"  # the advice says so itself
    parts = [_break_even(event) + (use if event.acceptance_rate is not None else "")]
    if event.speedup.total is not None:
        parts.append(f"{times(event.speedup.total)} with prefill")
    if event.verdict is JudgedSpeed.NONE and event.speedup.repeats:
        parts.append("three counted repeats make a verdict")
    said = ". ".join(parts) + "."
    # The advice comes first: on a small window the end of the line is cut.
    return f"{advice} {said}" if advice else said


def _break_even(event: RaceFinished) -> str:
    measured = event.acceptance_rate
    if measured is None:
        return "Nothing was tested"
    if event.break_even_acceptance is None:
        return f"No acceptance breaks even at this cost (measured {number(measured)})"
    return (
        f"Breaks even at {number(event.break_even_acceptance)} accepted; "
        f"measured {number(measured)}"
    )


def lane_times(event: RaceFinished) -> str:
    """Return both lanes' milliseconds per token, for a tool tip."""
    plain = milliseconds(event.plain.ms_per_token)
    speculative = milliseconds(event.speculative.ms_per_token)
    return f"Per token: plain {plain}, speculative {speculative}."
