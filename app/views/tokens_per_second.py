"""Tokens per second of both lanes, cumulative: an instant rate jumps with each run."""

from __future__ import annotations

from app.views.lane_curve import PLAIN, SPECULATIVE
from app.views.time_plot import Stripe, TimePlot, Words
from core.events import Lane, RoundFinished


def _rate(event: RoundFinished) -> float:
    emitted = event.position + len(event.tokens)
    return 1000 * emitted / event.clock_ms if event.clock_ms > 0 else 0.0


def tokens_per_second() -> TimePlot:
    """Return the plot's source."""
    return TimePlot(
        Words("Tokens per second", "tok/s", "tokens per second so far"),
        (
            Stripe(Lane.SPECULATIVE, SPECULATIVE, _rate),
            Stripe(Lane.PLAIN, PLAIN, _rate),
        ),
    )
