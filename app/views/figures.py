"""The probabilities of a token or a proposal in one line."""

from __future__ import annotations

from app.views.labels import number, word
from core.events import Candidate, Place, RoundFinished, TokenOutcome


def token_figures(token: TokenOutcome, of: RoundFinished, place: Place | None) -> str:
    """Return what the models gave a committed token, or the proposal judged there."""
    if place is not None:
        figures = place_figures(place, of)
    elif of.settings.temperature == 0:
        figures = f"target {share(token.target_top, token.token_id)} (unwarped)"
    else:
        figures = f"target {number(token.target_probability)}"
    return f"{figures}, near tie" if token.near_tie else figures


def place_figures(place: Place, of: RoundFinished) -> str:
    """Return draft, target and u of a proposal; at T = 0 from the unwarped lists."""
    if of.settings.temperature == 0:
        draft = share(place.draft_top, place.token_id)
        target = share(place.target_top, place.token_id)
        tail = " (unwarped)"
    else:
        draft = number(place.draft_probability)
        target = number(place.target_probability)
        tail = f", u {number(place.uniform)}" if place.uniform is not None else ""
    return f"“{word(place.text)}”: draft {draft}, target {target}{tail}"


def share(candidates: tuple[Candidate, ...], token_id: int) -> str:
    """Return a token's probability in a list of the best, or a bound for it."""
    for candidate in candidates:
        if candidate.token_id == token_id:
            return number(candidate.probability)
    # Outside the eight best it is smaller than the last of them.
    if not candidates:
        return number(None)
    return f"<{max(candidates[-1].probability, 0.01):.2f}"
