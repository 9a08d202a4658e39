"""The sweeps that were kept, read off the disk: for errands. No Qt in here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import localtime, strftime
from typing import TYPE_CHECKING, Any

from app.views.figure_words import caption
from app.views.sweep_words import pair_name
from core.lab.figure_one import figure_curves
from core.lab.sweep_events import FIGURE_KINDS, FIGURE_TOKENS, SweepPlan

if TYPE_CHECKING:
    from core.lab.sweep_store import StoredSweep

FIGURE_LOOKAHEADS = set(SweepPlan.figure_1().lookaheads)


@dataclass(frozen=True, slots=True)
class Kept:
    """One entry in a list of what was kept.

    Attributes:
        name: the pair and when it was measured, for people.
        mark: tells it from the others.
        open: reads it; returns what a panel shows of it.
    """

    name: str
    mark: object
    open: Callable[[], tuple[Any, ...]]


def kept_sweeps() -> tuple[Kept, ...]:
    """Return the kept sweeps that hold a turn, the latest first."""
    return tuple(
        Kept(_name(stored), stored.path.name, partial(_open_sweep, stored))
        for stored in _stored()
    )


def kept_figures() -> tuple[Kept, ...]:
    """Return each temperature of each kept sweep that Figure 1 can be drawn from."""
    found = []
    for stored in _stored():
        plan = stored.plan()
        if plan is not None and _is_figure(plan):
            found += [_figure(stored, temperature) for temperature in plan.temperatures]
    return tuple(found)


def _stored() -> tuple[StoredSweep, ...]:
    from core.lab.sweep_store import list_sweeps

    return tuple(sweep for sweep in list_sweeps() if sweep.runs)


def _is_figure(plan: SweepPlan) -> bool:
    settings = plan.settings
    whole = settings.max_new_tokens == FIGURE_TOKENS and settings.ignore_eos
    kinds = set(plan.kinds) & set(FIGURE_KINDS)
    return whole and bool(kinds) and set(plan.lookaheads) >= FIGURE_LOOKAHEADS


def _figure(stored: StoredSweep, temperature: float) -> Kept:
    mark = stored.path.name, caption(_pair(stored), temperature)
    opens = partial(_open_figure, stored, temperature, mark)
    return Kept(f"{_name(stored)} · T = {temperature:g}", mark, opens)


def _open_sweep(stored: StoredSweep) -> tuple[Any, ...]:
    from core.lab.advice import advise_on_sweep

    cells = stored.cells()
    advice = advise_on_sweep(cells, stored.header.costs)
    return stored.plan(), cells, advice, stored.path.name, _pair(stored)


def _open_figure(
    stored: StoredSweep, temperature: float, mark: tuple[str, str]
) -> tuple[Any, ...]:
    cells = [cell for cell in stored.cells() if cell.temperature == temperature]
    drawn = [cell for cell in cells if cell.prompt_kind in FIGURE_KINDS]
    curves = figure_curves(drawn, stored.header.costs)
    return curves, *mark, all(cell.complete for cell in cells)


def _name(stored: StoredSweep) -> str:
    when = strftime("%d %b %Y, %H:%M", localtime(stored.path.stat().st_mtime))
    return f"{_pair(stored)} · {when}"


def _pair(stored: StoredSweep) -> str:
    return pair_name(stored.header.target.name, stored.header.draft.name)
