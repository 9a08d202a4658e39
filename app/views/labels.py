"""How texts and numbers are written on screen. No Qt, no arithmetic beyond rounding."""

from __future__ import annotations

from core.config import DecodingConfig, describe

DASH = "–"
MAX_LABEL = 24
_NAMES = {"lookahead": "K", "temperature": "T"}
_VISIBLE = {"\n": "↵", "\t": "⇥", "\r": "␍"}


def visible(text: str) -> str:
    """Return a token's text with its white space to be seen, shortened if long."""
    if text and not text.strip(" "):
        return "␣" * len(text) if len(text) <= 4 else f"␣×{len(text)}"
    shown = "".join(_VISIBLE.get(c, c) for c in text)
    return shown if len(shown) <= MAX_LABEL else shown[: MAX_LABEL - 1] + "…"


def word(text: str) -> str:
    """Return a token's text for a sentence: as visible, without a leading space."""
    shown = visible(text)
    return shown[1:] if shown.startswith(" ") else shown


def words(first: str, second: str) -> tuple[str, str]:
    """Return two texts for one sentence, so that different ones look different."""
    if word(first) != word(second) or first == second:
        return word(first), word(second)
    return visible(first).replace(" ", "␣"), visible(second).replace(" ", "␣")


def number(value: float | None) -> str:
    """Return a share with two digits, a bound for a tiny one, a dash for none."""
    if value is None:
        return DASH
    return "<0.01" if 0 < value < 0.005 else f"{value:.2f}"


def apart(first: float, second: float) -> tuple[str, str]:
    """Return two numbers with as many digits as it takes to tell them apart."""
    digits = 2
    while digits < 7 and f"{first:.{digits}f}" == f"{second:.{digits}f}":
        digits += 1
    return f"{first:.{digits}f}", f"{second:.{digits}f}"


def milliseconds(value: float | None) -> str:
    """Return a time: three significant digits, never fewer than a person reads."""
    if value is None:
        return DASH
    digits = 0 if value >= 100 else 1 if value >= 1 else 2
    return f"{value:,.{digits}f} ms"


def seconds(milliseconds_: float) -> str:
    """Return a time in seconds."""
    value = milliseconds_ / 1000
    return f"{value:.2f} s" if value < 100 else f"{value:,.0f} s"


def count(value: int, noun: str) -> str:
    """Return ``1 token`` or ``2 tokens``."""
    return f"{value:,} {noun}" if value == 1 else f"{value:,} {noun}s"


def round_name(round_index: int) -> str:
    """Return a round's number for people, from 1 (events count from 0)."""
    return f"round {round_index + 1}"


def change(before: DecodingConfig, after: DecodingConfig) -> str:
    """Return what changed, short: ``K 2→4``; more than two are counted."""
    names = after.changes(before)
    parts = [_one_change(n, getattr(before, n), getattr(after, n)) for n in names]
    shown = parts if len(parts) <= 2 else [*parts[:1], f"+{len(parts) - 1} more"]
    return ", ".join(shown)


def lookahead_word(settings: DecodingConfig) -> str:
    """Return K, or that it is chosen from round to round."""
    return "auto" if settings.auto_lookahead else str(settings.lookahead)


def _one_change(name: str, before: object, after: object) -> str:
    label = _NAMES.get(name, describe()[name].label)
    return f"{label} {_value(before)}→{_value(after)}"


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, int | float) else str(value)
