"""The card of a finished draft: for people, and for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.codec import encode
from core.distillation.plan import DraftFigures, KindFigures
from core.distillation.words import number, share

MACHINE_CARD = "draftrace.json"
PEOPLES_CARD = "README.md"


@dataclass(frozen=True, slots=True)
class DraftCard:
    """What is worth knowing of a draft.

    Attributes:
        name: of the draft.
        target: the target's name.
        licence: of the target, which the draft inherits; may be empty.
        command: what makes it again.
        data: what it learned from, as (name, value) rows.
        recipe: how it learned, as (name, value) rows.
        seconds: by stage.
        expected_acceptance: on held-out texts, teacher-forced; None before training.
        figures: measured in real rounds; None if that was cancelled.
    """

    name: str
    target: str
    licence: str
    command: str
    data: tuple[tuple[str, str], ...]
    recipe: tuple[tuple[str, str], ...]
    seconds: tuple[tuple[str, float], ...]
    expected_acceptance: float | None
    figures: DraftFigures | None


def write_card(folder: Path, card: DraftCard) -> None:
    """Write both cards into ``folder``."""
    text = "\n".join(_lines(card))
    (folder / PEOPLES_CARD).write_text(text, encoding="utf-8")
    content = json.dumps(as_json(card), indent=1, ensure_ascii=False)
    (folder / MACHINE_CARD).write_text(content + "\n", encoding="utf-8")


def as_json(card: DraftCard) -> dict[str, Any]:
    """Return the card as JSON values."""
    figures = card.figures
    return {
        "card": 1,
        **{key: getattr(card, key) for key in ("name", "target", "licence", "command")},
        **{key: dict(getattr(card, key)) for key in ("data", "recipe", "seconds")},
        "expected_acceptance": card.expected_acceptance,
        "cost_ratio": figures.cost_ratio if figures else None,
        "figures": encode(figures),
        "badge": "MEASURED",
    }


def _lines(card: DraftCard) -> Iterator[str]:
    if card.licence:
        yield from ("---", f"license: {card.licence}", "---", "")
    yield f"# {card.name}"
    yield ""
    yield (
        f"A small draft for speculative sampling with {card.target}, which it cannot "
        "replace: it was trained to guess that model's next tokens. Draftrace made it."
    )
    yield from ("", f"    {card.command}", "")
    yield from _table("Data", ("", ""), card.data)
    yield from _table("Recipe", ("", ""), card.recipe)
    times = [(name, f"{seconds:,.0f} s") for name, seconds in card.seconds]
    yield from _table("Time", ("", ""), times)
    yield from _figures(card)
    yield from _licence(card)


def _figures(card: DraftCard) -> Iterator[str]:
    yield from ("## Figures", "")
    yield (
        "Expected acceptance on held-out texts of the target (mean of the sums of "
        f"min(draft, target)): {share(card.expected_acceptance)}."
    )
    yield ""
    figures = card.figures
    if figures is None:
        yield from ("Nothing was measured in real rounds.", "")
        return
    machine = figures.machine
    yield (
        f"MEASURED in rounds of K = {figures.lookahead} on held-out prompts; "
        f"{machine.system}, {machine.processor}, {machine.num_cores} cores, "
        f"{machine.device}. A step of the draft takes {figures.draft_ms:.2f} ms, one "
        f"of the target {figures.target_ms:.2f} ms: c = {figures.cost_ratio:.3f}."
    )
    yield ""
    if figures.tried:
        yield from _tried(figures)
    rows = [
        (
            f"{s.temperature:g}", share(s.acceptance), number(s.tokens_per_round),
            number(s.predicted), number(s.measured),
        )
        for s in figures.speeds
    ]  # fmt: skip
    heads = ("T", "acceptance", "tokens per round", "speed-up predicted", "measured")
    yield from _table("", heads, rows)
    yield from _table("", _KIND_HEADS, [_kind_row(kind) for kind in figures.kinds])


def _tried(figures: DraftFigures) -> Iterator[str]:
    yield (
        f"K = {figures.lookahead} was chosen by short races on one prompt of each kind "
        "(median speed-up):"
    )
    yield ""
    heads = ("K", *(f"T = {s.temperature:g}" for s in figures.speeds))
    rows = [(str(k.lookahead), *map(number, k.speedups)) for k in figures.tried]
    yield from _table("", heads, rows)


_KIND_HEADS = ("kind", "T", "prompts", "acceptance", "tokens per round", "speed-up")


def _kind_row(kind: KindFigures) -> tuple[str, ...]:
    return (
        kind.kind,
        f"{kind.temperature:g}",
        str(kind.prompts),
        share(kind.acceptance),
        number(kind.tokens_per_round),
        number(kind.speedup),
    )


def _licence(card: DraftCard) -> Iterator[str]:
    yield from ("## Licence", "")
    if card.licence:
        yield f"That of the target, {card.target}: {card.licence}."
    else:
        yield (
            f"{card.target} states none; the draft was made from its texts, so ask "
            "before you pass it on."
        )
    yield ""


def _table(title: str, heads: tuple[str, ...], rows: Any) -> Iterator[str]:
    if title:
        yield from (f"## {title}", "")
    yield f"| {' | '.join(heads)} |"
    yield "| --- " * len(heads) + "|"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', '/') for cell in row)} |"
    yield ""
