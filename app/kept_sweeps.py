"""The sweeps that were kept, read off the disk: for errands. No Qt in here."""

from __future__ import annotations

from dataclasses import dataclass
from time import localtime, strftime
from typing import TYPE_CHECKING

from app.views.sweep_words import pair_name
from core.lab.figure_one import FigureCurve, figure_curves
from core.lab.sweep_events import FIGURE_KINDS, FIGURE_TOKENS, SweepPlan

if TYPE_CHECKING:
    from core.lab.sweep_store import StoredSweep

FIGURE_LOOKAHEADS = set(SweepPlan.figure_1().lookaheads)


@dataclass(frozen=True, slots=True)
class KeptFigure:
    """One temperature of a kept sweep that has Figure 1's K and tokens.

    Attributes:
        stored: the sweep.
        temperature: of the figure.
    """

    stored: StoredSweep
    temperature: float

    @property
    def name(self) -> str:
        """The pair, the temperature, and when it was measured."""
        return f"{sweep_name(self.stored)} · T = {self.temperature:g}"

    @property
    def pair(self) -> str:
        """The pair in words."""
        return stored_pair(self.stored)

    def curves(self) -> tuple[FigureCurve, ...]:
        """Return the curves of the paper's prompt kinds."""
        cells = (
            cell
            for cell in self.stored.cells()
            if cell.temperature == self.temperature and cell.prompt_kind in FIGURE_KINDS
        )
        return figure_curves(cells, self.stored.header.costs)


def kept_sweeps() -> tuple[StoredSweep, ...]:
    """Return the kept sweeps that hold a turn, the latest first."""
    from core.lab.sweep_store import list_sweeps

    return tuple(sweep for sweep in list_sweeps() if sweep.runs)


def kept_figures() -> tuple[KeptFigure, ...]:
    """Return each temperature of each kept sweep that Figure 1 can be drawn from."""
    found = []
    for stored in kept_sweeps():
        plan = stored.plan()
        if plan is not None and _is_figure(plan):
            found += [KeptFigure(stored, t) for t in plan.temperatures]
    return tuple(found)


def _is_figure(plan: SweepPlan) -> bool:
    settings = plan.settings
    whole = settings.max_new_tokens == FIGURE_TOKENS and settings.ignore_eos
    kinds = set(plan.kinds) & set(FIGURE_KINDS)
    return whole and bool(kinds) and set(plan.lookaheads) >= FIGURE_LOOKAHEADS


def sweep_name(stored: StoredSweep) -> str:
    """Return what a kept sweep is called in a list."""
    when = strftime("%d %b %Y, %H:%M", localtime(stored.path.stat().st_mtime))
    return f"{stored_pair(stored)} · {when}"


def stored_pair(stored: StoredSweep) -> str:
    """Return the pair of a kept sweep in words."""
    return pair_name(stored.header.target.name, stored.header.draft.name)
