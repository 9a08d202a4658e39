"""What the map of a sweep says: figures, sentences, grids as they are typed. No Qt."""

from __future__ import annotations

from enum import StrEnum

from app.views.labels import DASH, count, milliseconds, number
from core.errors import ConfigurationError
from core.lab.sweep_events import (
    ALL_KINDS,
    SweepCell,
    SweepFinished,
    SweepProgress,
    SweepStarted,
    lookahead_name,
)

INTRODUCTION = (
    "Decodes prompts of the library at every K and temperature, by turns with plain "
    "decoding of the same target. Everything else is as set on the Decode page."
)
IDLE = "Nothing is measured yet for this grid; press Start."
WAITING = "Getting ready…"
HINT = "Enter, or a click, sets a cell's K and temperature on the Decode page."
FAILED = "The sweep ended early; whole turns are kept, and Start goes on from there."
NOT_BEGUN = "The sweep could not begin; the sentence above says why."
CANCELLED = "Cancelled before anything was measured."
EARLIER = "What shows was kept by an earlier one."
PARTIAL = "This sweep did not get far enough to say more; Start goes on from there."
MEASURED = "Measured just now, on this machine."
RECORDED = "Read from a file that an earlier sweep left."


class Figure(StrEnum):
    """What the cells show."""

    SPEEDUP = "Speed-up over plain"
    TOKENS = "Tokens per round"
    ACCEPTANCE = "Acceptance rate"

    def of(self, cell: SweepCell) -> float | None:
        """Return the figure of a cell; None where nothing was measured."""
        match self:
            case Figure.SPEEDUP:
                return cell.speedup
            case Figure.TOKENS:
                return cell.tokens_per_round
            case Figure.ACCEPTANCE:
                return cell.acceptance_rate

    def text(self, cell: SweepCell) -> str:
        """Return the figure as it stands in the cell."""
        value = self.of(cell)
        if value is None:
            return DASH
        return f"{value:.2f}×" if self is Figure.SPEEDUP else number(value)


def under(figure: Figure, cell: SweepCell, best: bool) -> str:
    """Return the small line of a cell: that it is the best, its range or its state."""
    if figure.of(cell) is None:
        return ""
    if not cell.complete:
        return "so far"
    if best:
        return "highest"
    if figure is Figure.SPEEDUP and cell.speedup_low != cell.speedup_high:
        return f"{cell.speedup_low:.2f} to {cell.speedup_high:.2f}"
    return ""


def place(cell: SweepCell) -> str:
    """Return where in the map a cell stands."""
    name = lookahead_name(cell.lookahead)  # "auto K" where a sentence begins
    return f"{name[0].upper()}{name[1:]}, temperature {cell.temperature:g}"


def sentence(cell: SweepCell) -> str:
    """Return all that is known of a cell: measured, predicted, behind it."""
    if cell.speedup is None:
        return f"{place(cell)}: not measured yet."
    spread = ""
    if cell.speedup_low != cell.speedup_high:
        spread = f" ({cell.speedup_low:.2f} to {cell.speedup_high:.2f})"
    predicted = "–" if cell.predicted_speedup is None else _times(cell)
    return (
        f"{place(cell)}: {cell.speedup:.2f}×{spread} measured, {predicted} predicted "
        f"from the other K; {milliseconds(cell.ms_per_token)} a token, "
        f"{number(cell.tokens_per_round)} tokens per round, acceptance "
        f"{number(cell.acceptance_rate)}, {count(cell.runs, 'decoding')}"
        f"{'' if cell.complete else ' so far'}."
    )


def _times(cell: SweepCell) -> str:
    return f"{cell.predicted_speedup:.2f}×"


def recorded(advice: str) -> str:
    """Return the advice of a kept sweep under the badge that it stands beside."""
    return advice.replace("MEASURED", "RECORDED")


def caption(figure: Figure, kind: str, pair: str) -> str:
    """Return what the map shows, for whoever sees it alone."""
    prompts = kind_name(kind) if kind == ALL_KINDS else f"prompts of kind {kind}"
    return f"{figure.value}, {prompts}" + (f": {pair}" if pair else "")


def pair_name(target: str, draft: str | None) -> str:
    """Return a pair in words."""
    return f"{target} with {draft}" if draft else target


def loaded(cell: SweepCell) -> str:
    """Return what happened when a cell was chosen."""
    return f"{place(cell)} are set on the Decode page."


def started(event: SweepStarted) -> str:
    """Return how much is to do, and what is known from before."""
    if event.done_runs:
        return f"Going on: {event.done_runs} of {event.total_runs} decodings are known."
    return f"Beginning {count(event.total_runs, 'decoding')}."


def progress(event: SweepProgress) -> str:
    """Return what is decoded now and how long the rest takes."""
    name = lookahead_name(event.lookahead)
    what = f"{name}, T = {event.temperature:g}, {event.prompt_kind}"
    if not event.repeat:
        return f"Warming up: {what}"
    left = "" if event.seconds_left is None else f" · {remaining(event.seconds_left)}"
    return f"{event.done_runs} of {event.total_runs}{left} · {what}"


def remaining(seconds: float) -> str:
    """Return a time that is left, no more exact than it can be known."""
    if seconds < 60:
        return "under a minute left"
    return f"about {seconds / 60:.0f} min left"


def ended(event: SweepFinished) -> str:
    """Return how a sweep ended."""
    if event.cancelled and not any(cell.runs for cell in event.cells):
        return CANCELLED
    if event.cancelled:
        return "Cancelled; whole turns are kept, and Start goes on from there."
    return "Finished."


def kind_name(kind: str) -> str:
    """Return a prompt kind for a list."""
    return "all prompts" if kind == ALL_KINDS else kind


def whole_numbers(text: str) -> tuple[int, ...]:
    """Return the K of ``1, 2, 4-6``, in order and each once.

    Raises:
        ConfigurationError: if a part of it is no number and no range.
    """
    found: set[int] = set()
    for part in _parts(text):
        low, _, high = part.partition("-")
        try:
            found.update(range(int(low), min(int(high or low), 1000) + 1))
        except ValueError:
            raise ConfigurationError(
                f"K has {part!r}; write whole numbers or ranges, such as 1, 2, 4-8."
            ) from None
    return tuple(sorted(found))


def numbers(text: str) -> tuple[float, ...]:
    """Return the temperatures of ``0, 0.8``, in order and each once.

    Raises:
        ConfigurationError: if a part of it is no number.
    """
    found: set[float] = set()
    for part in _parts(text):
        try:
            found.add(float(part))
        except ValueError:
            raise ConfigurationError(
                f"Temperatures have {part!r}; write numbers, such as 0, 0.8."
            ) from None
    return tuple(sorted(found))


def _parts(text: str) -> list[str]:
    return text.replace(",", " ").replace(";", " ").split()
