"""What the models would have said at one place, merged for drawing. No Qt."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.events import Candidate, Place, RoundFinished

KINDS = ("draft", "target", "residual")


@dataclass(frozen=True, slots=True)
class CandidateRow:
    """One token's probability under each distribution (None: not among its best).

    Attributes:
        text: the token's label.
        shares: draft, target, residual.
        proposed: the draft proposed it here.
        drawn: it went into the text here.
    """

    text: str
    shares: tuple[float | None, float | None, float | None]
    proposed: bool = False
    drawn: bool = False


def candidate_rows(event: RoundFinished, place: int) -> list[CandidateRow]:
    """Return the candidates at a place (0: of the token without one), best first."""
    judged = next((p for p in event.places if p.index == place), None)
    if judged is not None:
        tops = (judged.draft_top, judged.target_top, judged.residual_top)
    else:
        free = [t for t in event.tokens if t.place is None]
        tops = ((), free[-1].target_top if free else (), ())
    drawn = {t.token_id for t in event.tokens if (t.place or 0) == place}
    proposed = judged.token_id if judged else None
    names = _names(tops)
    if judged is not None and judged.token_id not in names:
        names[judged.token_id] = judged.text  # proposed from outside the best
    rows = [
        CandidateRow(
            text, _shares(tops, token_id), token_id == proposed, token_id in drawn
        )
        for token_id, text in names.items()
    ]
    if judged is not None and event.settings.temperature > 0:
        rows = [_with_figures(row, judged) if row.proposed else row for row in rows]
    return sorted(rows, key=_weight, reverse=True)


def _names(tops: tuple[tuple[Candidate, ...], ...]) -> dict[int, str]:
    return {c.token_id: c.text for top in tops for c in top}


def _with_figures(row: CandidateRow, place: Place) -> CandidateRow:
    """Return the proposed token's row with the figures that the rule used."""
    figures = (place.draft_probability, place.target_probability, row.shares[2])
    return replace(row, shares=figures)


def _shares(
    tops: tuple[tuple[Candidate, ...], ...], token_id: int
) -> tuple[float | None, float | None, float | None]:
    found = [
        next((c.probability for c in top if c.token_id == token_id), None)
        for top in tops
    ]
    return found[0], found[1], found[2]


def _weight(row: CandidateRow) -> tuple[bool, float]:
    """Put what was proposed and drawn first, then the weightiest."""
    return row.proposed or row.drawn, max(s or 0.0 for s in row.shares)
