"""K of each round as a stepped line, and how much of it was accepted."""

from __future__ import annotations

from app.views.lane_curve import Look
from app.views.time_plot import Stripe, TimePlot, Words
from core.events import Lane, RoundFinished

LOOKAHEAD = Look("K", "K", "draft", "solid", "s", stepped=True)
ACCEPTED = Look("accepted", "accepted", "accepted", "dot", "o")


def _lookahead(event: RoundFinished) -> float:
    chosen = event.auto_lookahead
    return float(event.settings.lookahead if chosen is None else chosen)


def _accepted(event: RoundFinished) -> float:
    return float(event.counts.accepted)


def lookahead_plot() -> TimePlot:
    """Return the plot's source."""
    return TimePlot(
        Words("K and accepted", "tokens", "tokens a round", "no speculative round yet"),
        (
            Stripe(Lane.SPECULATIVE, LOOKAHEAD, _lookahead),
            Stripe(Lane.SPECULATIVE, ACCEPTED, _accepted),
        ),
    )
