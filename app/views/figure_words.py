"""What the Figure 1 section says. Pure text and numbers, no Qt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.views.labels import count, milliseconds, number
from core.lab.figure_one import FigureCurve
from core.lab.paper_figure import CURVES, PaperCurve, round_ms
from core.lab.sweep_events import FIGURE_TOKENS, SweepPlan

if TYPE_CHECKING:
    from app.views.plot_source import Table

INTRODUCTION = (
    "Figure 1 of the paper (Chen et al. 2023) for this pair: the time for 128 tokens, "
    "emitted / (K + 1) and the time of a round over K = 0 to 7, on prompts like code "
    "and like summaries, with top-p 0.95 and no stop at an end token."
)
LEGEND = (
    "Points: mean. Bars: one standard deviation. △: nine of ten decodings were faster. "
    "Dashed: Leviathan's closed form from the acceptance and step costs measured here, "
    "PREDICTED."
)
PAPER = (
    "Dash and dot: the paper's Chinchilla 70B with a 4B draft, HumanEval for code and "
    "XSum for summaries; marks are printed values, the line is the closed form "
    "through them."
)
EMPTY = "not measured yet: press Start"
IDLE = "Nothing is measured yet for this figure; press Start."
SHOW_PAPER = "&Paper's values"
HEADINGS = (
    "prompts",
    "K",
    "ms for 128 tokens",
    "standard deviation",
    "P90",
    "emitted / (K + 1)",
    "ms a round",
    "ms for 128 tokens, PREDICTED",
    "emitted / (K + 1), PREDICTED",
    "ms a round, PREDICTED",
)


def total(plan: SweepPlan) -> str:
    """Return how much a figure takes."""
    prompts = len(plan.kinds) * plan.prompts_per_kind
    runs = prompts * plan.repeats * len(plan.lookaheads)
    return (
        f"{count(runs, 'decoding')} of {FIGURE_TOKENS} tokens, after a short warm-up."
    )


def sentence(curve: FigureCurve) -> str:
    """Return what a curve says: the fastest K beside plain decoding."""
    times = {
        k: ms
        for k, ms in zip(curve.lookaheads, curve.ms_128, strict=True)
        if ms is not None
    }
    if not times:
        return f"{curve.prompt_kind}: not measured yet."
    best = min(times, key=times.__getitem__)
    rate = f"acceptance {number(curve.acceptance)}"
    if best == 0:
        return (
            f"{curve.prompt_kind}: no K wins, 128 tokens take least at K = 0: "
            f"{_time(curve, 0)}; {rate}."
        )
    plain = f" against {milliseconds(times[0])} at K = 0" if 0 in times else ""
    return (
        f"{curve.prompt_kind}: 128 tokens take least at K = {best}: "
        f"{_time(curve, best)}{plain}; {rate}."
    )


def _time(curve: FigureCurve, lookahead: int) -> str:
    at = curve.lookaheads.index(lookahead)
    spread, p90 = curve.spread[at], curve.p90[at]
    more = "" if spread is None else f" ± {milliseconds(spread).removesuffix(' ms')}"
    tail = "" if p90 is None else f" (P90 {milliseconds(p90)})"
    mean = milliseconds(curve.ms_128[at])
    return mean.replace(" ms", f"{more} ms{tail}")


def caption(pair: str, temperature: float | None) -> str:
    """Return whose figure it is."""
    if not pair or temperature is None:
        return ""
    return f"{pair}, temperature {temperature:g}, top-p 0.95"


def recorded(complete: bool) -> str:
    """Return what is said of a kept figure."""
    told = "Read from a file that an earlier sweep left"
    return f"{told}." if complete else f"{told}; Start goes on from there."


def table(curves: Sequence[FigureCurve], paper: bool) -> Table:
    """Return the numbers of all three panels, one K a line."""
    rows = [row for curve in curves for row in _rows(curve)]
    if paper:
        rows += [row for curve in CURVES for row in _paper_rows(curve)]
    return HEADINGS, rows


def _rows(curve: FigureCurve) -> list[tuple[object, ...]]:
    none = (None,) * len(curve.lookaheads)
    columns = (
        (curve.prompt_kind,) * len(curve.lookaheads),
        curve.lookaheads,
        curve.ms_128,
        curve.spread,
        curve.p90,
        curve.share,
        curve.round_ms,
        curve.closed_ms_128 or none,
        curve.closed_share or none,
        curve.closed_round_ms or none,
    )
    return list(zip(*columns, strict=True))


def _paper_rows(curve: PaperCurve) -> list[tuple[object, ...]]:
    """Return what is printed as measured, the line through it as predicted."""
    times, shares = dict(curve.printed_ms_128), dict(curve.printed_share)
    closed = zip(curve.ms_128(), curve.share(), strict=True)
    return [
        (
            *(f"paper: {curve.name}", k, times.get(k), None, None, shares.get(k)),
            *(None, ms, share, round_ms(k)),
        )
        for k, (ms, share) in enumerate(closed)
    ]
