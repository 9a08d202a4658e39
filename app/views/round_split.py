"""Where each speculative round's time went: draft, verify, other."""

from __future__ import annotations

from app.views.lane_curve import Look
from app.views.time_plot import Stripe, TimePlot, Words
from core.events import Lane, RoundFinished

DRAFT = Look("draft", "draft", "draft", "dash", "t")
VERIFY = Look("verify", "verify", "target", "solid", "o")
OTHER = Look("other", "other", "other", "dot", "d")


def _draft(event: RoundFinished) -> float:
    return event.draft_ms


def _verify(event: RoundFinished) -> float:
    return event.verify_ms


def _other(event: RoundFinished) -> float:
    return event.rule_ms + event.other_ms


def round_split() -> TimePlot:
    """Return the plot's source."""
    curves = ((DRAFT, _draft), (VERIFY, _verify), (OTHER, _other))
    return TimePlot(
        Words("Time per round", "ms", "ms per round", "no speculative round yet"),
        tuple(Stripe(Lane.SPECULATIVE, look, value) for look, value in curves),
    )
