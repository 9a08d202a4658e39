"""Why this token: one title, its figures, one plain sentence, what it cost.

Pure text from events, so that the wording can be tested without a window.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.views.figures import place_figures, token_figures
from app.views.labels import (
    apart,
    count,
    milliseconds,
    round_name,
    word,
    words,
)
from core.config import Coupling
from core.events import Origin, Place, RoundFinished, TokenOutcome, Verdict


@dataclass(frozen=True, slots=True)
class Card:
    """What hovering a token tells.

    Attributes:
        title: the token, its origin, its round and place.
        figures: the probabilities in one line; may be empty.
        sentence: why it is here.
        cost: its share of the round's time; may be empty.
        action: what Enter and a click do; empty where there is nothing to open.
    """

    title: str
    figures: str
    sentence: str
    cost: str = ""
    action: str = ""

    def spoken(self) -> str:
        """Return all of it as one text for a screen reader."""
        parts = (self.title, self.figures, self.sentence, self.cost)
        return ". ".join(p.rstrip(".") for p in parts if p) + "."


def token_card(token: TokenOutcome, of: RoundFinished | None) -> Card:
    """Return the card of a committed token."""
    if of is None:
        title = f"“{word(token.text)}” · prompt"
        return Card(
            title, f"id {token.token_id}", "Given in the prompt; nothing drawn."
        )
    name = label(token, of)
    place = _place(of, token.place)
    where = f", place {place.index}" if place else ""
    title = f"“{word(name)}” · {token.origin} · {round_name(of.round_index)}{where}"
    return Card(
        title,
        token_figures(token, of, place),
        _token_sentence(token, of, place, name) + _growing(token),
        cost(of),
        _open(of),
    )


def place_card(place: Place, of: RoundFinished) -> Card:
    """Return the card of a proposal that did not make it into the text."""
    title = (
        f"“{word(place.text)}” · {place.verdict} · {round_name(of.round_index)}, "
        f"place {place.index}"
    )
    figures = place_figures(place, of)
    return Card(title, figures, place_sentence(place, of), waste(of), _open(of))


def place_sentence(place: Place, of: RoundFinished) -> str:
    """Return why a proposal was accepted, refused, or never judged."""
    if place.verdict is Verdict.DISCARDED:
        return _discarded(place, of)
    if of.settings.temperature == 0:
        return _at_zero(place, of)
    if of.settings.coupling is Coupling.SHARED_NOISE:
        return _shared_noise(place, of)
    return _maximal(place, of)


def cost(of: RoundFinished) -> str:
    """Return a token's share of its round's time (a round is shared evenly)."""
    num_tokens = max(1, len(of.tokens))
    share = milliseconds(of.round_ms / num_tokens)
    whole = f"{milliseconds(of.round_ms)} for {count(len(of.tokens), 'token')}"
    return f"Cost {share}: its share of {whole}."


def waste(of: RoundFinished) -> str:
    """Return what it cost to draft one proposal that did not stay."""
    share = milliseconds(of.draft_ms / max(1, of.lookahead))
    whole = f"{milliseconds(of.draft_ms)} for {count(of.lookahead, 'proposal')}"
    return f"Cost {share} of drafting: {whole}."


def label(token: TokenOutcome, of: RoundFinished) -> str:
    """Return a name for a token, also for one that adds no text."""
    if token.text:
        return token.text
    place = _place(of, token.place)
    if place and token.origin is Origin.ACCEPTED:
        return place.text
    known = token.target_top + (place.residual_top + place.target_top if place else ())
    found = (c.text for c in known if c.token_id == token.token_id)
    return next(found, f"token {token.token_id}")


def drawn_instead(place: Place, of: RoundFinished) -> str | None:
    """Return the label of the token drawn where ``place`` was refused."""
    for token in of.tokens:
        if token.place == place.index and token.origin is Origin.RESAMPLED:
            return label(token, of)
    return None


def _place(of: RoundFinished, index: int | None) -> Place | None:
    return next((p for p in of.places if p.index == index), None)


def _open(of: RoundFinished) -> str:
    return f"Open {round_name(of.round_index)}"


def _token_sentence(
    token: TokenOutcome, of: RoundFinished, place: Place | None, name: str
) -> str:
    if place is not None:
        return place_sentence(place, of)
    if token.origin is Origin.PLAIN:
        return f"Plain decoding: one pass of the target gave '{word(name)}'."
    if of.lookahead == 0:
        return f"Nothing was proposed; '{word(name)}' comes straight from the target."
    proposals = "The proposal was" if of.lookahead == 1 else f"All {of.lookahead} were"
    return (
        f"{proposals} accepted, so the same pass of the target gave one more: "
        f"'{word(name)}'."
    )


def _growing(token: TokenOutcome) -> str:
    return "" if token.text else " It adds no text of its own here."


def _maximal(place: Place, of: RoundFinished) -> str:
    kept = place.verdict is Verdict.ACCEPTED
    ratio, uniform = place.acceptance_probability, place.uniform
    if ratio is None or uniform is None:
        verdict = "accepted" if kept else "refused"
        return f"'{word(place.text)}' {verdict}."
    if kept and ratio >= 1:
        return (
            f"'{word(place.text)}' accepted: target is not below draft, any u keeps it."
        )
    u, limit = apart(uniform, ratio)
    if kept:
        return f"'{word(place.text)}' accepted: u {u} is below target/draft {limit}."
    said, drawn = words(place.text, drawn_instead(place, of) or "")
    tail = f"; '{drawn}' drawn from the residual." if drawn else "."
    return f"'{said}' refused: u {u} is not below target/draft {limit}{tail}"


def _at_zero(place: Place, of: RoundFinished) -> str:
    if place.verdict is Verdict.ACCEPTED:
        return f"'{word(place.text)}' is the first choice of both target and draft."
    choice = place.target_choice or drawn_instead(place, of) or "another"
    chosen, said = words(choice, place.text)
    return f"The target's first choice is '{chosen}', the draft said '{said}'."


def _shared_noise(place: Place, of: RoundFinished) -> str:
    if place.verdict is Verdict.ACCEPTED:
        return f"With the same noise target and draft both pick '{word(place.text)}'."
    choice = place.target_choice or drawn_instead(place, of) or "another"
    chosen, said = words(choice, place.text)
    return f"With the same noise the target picks '{chosen}', the draft '{said}'."


def _discarded(place: Place, of: RoundFinished) -> str:
    refused = next((p for p in of.places if p.verdict is Verdict.REFUSED), None)
    why = f"place {refused.index} was refused" if refused else "the text ended before"
    return f"'{word(place.text)}' was drafted but never judged: {why}."
