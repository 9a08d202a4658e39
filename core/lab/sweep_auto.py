"""An automatic K beside every fixed one, from the cells of a sweep."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from core.lab.sweep_events import AUTO, SweepCell


@dataclass(frozen=True, slots=True)
class AutoResult:
    """How an automatic K did on the prompts of one kind at one temperature.

    Attributes:
        prompt_kind: of the prompts, or ``all``.
        temperature: of both models.
        speedup: of the automatic K over plain decoding.
        best_lookahead: the fastest fixed K, 0 among them.
        best_speedup: what it brought.
        share: time of the automatic K over that of the best fixed one; 1 is as fast.
        plain_share: time of the automatic K over that of plain decoding.
    """

    prompt_kind: str
    temperature: float
    speedup: float
    best_lookahead: int
    best_speedup: float
    share: float
    plain_share: float


def auto_results(cells: Iterable[SweepCell]) -> tuple[AutoResult, ...]:
    """Return the automatic K of each row of a sweep; empty where it was not swept."""
    rows: dict[tuple[str, float], list[SweepCell]] = {}
    for cell in cells:
        if cell.speedup is not None:
            rows.setdefault((cell.prompt_kind, cell.temperature), []).append(cell)
    found = (_result(row) for row in rows.values())
    return tuple(result for result in found if result is not None)


def _result(row: list[SweepCell]) -> AutoResult | None:
    auto = next((cell for cell in row if cell.lookahead == AUTO), None)
    fixed = [cell for cell in row if cell.lookahead != AUTO]
    if auto is None or not auto.speedup or not fixed:
        return None
    best = max(fixed, key=lambda cell: (cell.speedup or 0.0, -cell.lookahead))
    # Plain decoding is a fixed K, too, whether or not it has a column.
    won = best.speedup if best.speedup is not None and best.speedup > 1 else 1.0
    return AutoResult(
        prompt_kind=auto.prompt_kind,
        temperature=auto.temperature,
        speedup=auto.speedup,
        best_lookahead=best.lookahead if won > 1 else 0,
        best_speedup=won,
        share=won / auto.speedup,
        plain_share=1 / auto.speedup,
    )


def auto_lines(cells: Iterable[SweepCell]) -> tuple[str, ...]:
    """Return a sentence for each row with an automatic K."""
    return tuple(map(_sentence, auto_results(cells)))


def _sentence(result: AutoResult) -> str:
    off = 100 * (result.share - 1)
    best = f"K = {result.best_lookahead}" if result.best_lookahead else "plain decoding"
    words = f"{abs(off):.0f} % {'slower' if off > 0 else 'faster'} than"
    return (
        f"auto K, {result.prompt_kind}, T = {result.temperature:g}: "
        f"{result.speedup:.2f} times plain, {words} the best fixed ({best}, "
        f"{result.best_speedup:.2f})."
    )
