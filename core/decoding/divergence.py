"""Where two lanes that must agree do not, and whether rounding explains it."""

from __future__ import annotations

from collections.abc import Sequence

from core.events import Divergence, DivergenceKind, TokenOutcome


def divergence(
    plain: Sequence[TokenOutcome],
    fast: Sequence[TokenOutcome],
    *,
    row_invariant: bool = False,
) -> Divergence | None:
    """Return the first place where the lanes' tokens differ, or None.

    Rounding moves a gap by its tolerance at most, so where it swapped two tokens they
    lay that close in both lanes. One lane that saw a large gap means a fault; so does
    any difference on a row-invariant target, whose lanes round alike.
    """
    for position, (a, b) in enumerate(zip(plain, fast, strict=False)):
        if a.token_id != b.token_id:
            tie = a.near_tie and b.near_tie and not row_invariant
            kind = DivergenceKind.NEAR_TIE if tie else DivergenceKind.BUG
            return Divergence(position, _gap(a, b), kind)
    if len(plain) != len(fast):
        return Divergence(min(len(plain), len(fast)), None, DivergenceKind.BUG)
    return None


def _gap(*tokens: TokenOutcome) -> float | None:
    return max((t.margin for t in tokens if t.margin is not None), default=None)
