"""Milliseconds per token of both lanes, a round's time shared over its tokens."""

from __future__ import annotations

from app.views.lane_curve import PLAIN, SPECULATIVE
from app.views.time_plot import Stripe, TimePlot, Words
from core.events import Lane, RoundFinished


def _share(event: RoundFinished) -> float:
    return event.round_ms / max(1, len(event.tokens))


def time_per_token() -> TimePlot:
    """Return the plot's source."""
    return TimePlot(
        Words("Time per token", "ms", "ms per token"),
        (
            Stripe(Lane.SPECULATIVE, SPECULATIVE, _share),
            Stripe(Lane.PLAIN, PLAIN, _share),
        ),
    )
