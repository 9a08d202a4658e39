"""How a report writes tables, numbers and text: everything is escaped here."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

DASH = "–"
Row = tuple[object, ...]


def table(headings: Iterable[str], rows: Iterable[Row]) -> str:
    """Return a table that scrolls by itself where it is too wide."""
    head = "".join(f"<th>{safe(h)}</th>" for h in headings)
    body = "".join(
        "<tr>" + "".join(f"<td>{safe(cell)}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    top = f"<thead><tr>{head}</tr></thead>" if head else ""
    return f'<div class="wide"><table>{top}<tbody>{body}</tbody></table></div>'


def safe(text: object) -> str:
    """Return ``text`` for a page."""
    return escape(str(text))


def number(value: float | None) -> str:
    """Return a number with two digits, or a dash."""
    return DASH if value is None else f"{value:,.2f}"


def times(value: float | None) -> str:
    """Return a ratio as ``1.81×``, or a dash."""
    return DASH if value is None else f"{value:.2f}×"


def yes(value: bool) -> str:
    """Return yes or no."""
    return "yes" if value else "no"


def setting(value: object) -> str:
    """Return the value of a setting for people."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple):
        return ", ".join(map(repr, value)) or DASH
    return f"{value:g}" if isinstance(value, float) else str(value)
