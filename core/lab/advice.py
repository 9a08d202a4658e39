"""One sentence on what to do, from what was measured. Standard library only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from core.events import StepCosts
from core.lab import cost_model
from core.lab.sweep_events import SweepCell
from core.lab.sweep_runs import best_cell

ENOUGH_ROUNDS = 20  # with fewer, a place that was never accepted says little
WORTH_IT = 1.03  # a gain below it is not worth a sentence
HELPS = 1.02  # as the verdict of a race
DEAR = 0.5  # a draft step over a target step


def advise(
    shares: Sequence[float | None],
    rate: float | None,
    rounds: int,
    lookahead: int,
    costs: StepCosts,
    *,
    greedy: bool,
    proposed: float = 1.0,
) -> str:
    """Return what a run at one K suggests; empty where it says too little.

    Args:
        shares: accepted at a place over rounds that drafted it, from place 1.
        rate: accepted over tested; None if nothing was tested.
        rounds: how many rounds the shares stand on.
        lookahead: K of the run.
        costs: of the pair.
        greedy: the temperature is 0.
        proposed: share of the rounds with any proposal.
    """
    acceptance = cost_model.by_place(shares, rate, proposed)
    if acceptance is None or rounds < ENOUGH_ROUNDS:
        return ""
    table = cost_model.curve(costs, acceptance, greedy=greedy)
    best, now = cost_model.best(table), table[lookahead]
    if best.lookahead == 0 or best.speedup <= HELPS:
        return _nothing_wins(costs)
    alive = sum(bool(share) for share in shares)
    if alive < lookahead:
        return _never_accepted(alive + 1, lookahead)
    gain = now.ms_per_token / best.ms_per_token
    if gain < WORTH_IT:
        return f"K = {lookahead} is as good as any at this acceptance and these costs."
    if best.lookahead == 1 and (cost_model.cost_ratio(costs) or 0.0) >= DEAR:
        return f"{_dear(costs)}: try a smaller one, or K = 1."
    return (
        f"K = {best.lookahead} should be {100 * (gain - 1):.0f} % faster than "
        f"K = {lookahead} at this acceptance and these costs."
    )


def _never_accepted(first: int, lookahead: int) -> str:
    if first == lookahead:
        return f"Place {first} is never accepted: lower K to {first - 1}."
    return f"Places {first} and up are never accepted: lower K to {first - 1}."


def _dear(costs: StepCosts) -> str:
    return f"This draft costs {cost_model.cost_ratio(costs) or 0:.1f} of the target"


def _nothing_wins(costs: StepCosts) -> str:
    if (cost_model.cost_ratio(costs) or 0.0) >= DEAR:
        return f"{_dear(costs)} and no K wins with it: try a smaller one, or K = 0."
    return "No K wins at this acceptance and these costs: use K = 0."


def advise_on_sweep(cells: Iterable[SweepCell], costs: StepCosts) -> str:
    """Return what a sweep suggests; empty without a whole repeat."""
    best = best_cell(cells)
    if best is None or best.speedup is None:
        return ""
    if best.speedup <= HELPS or best.lookahead == 0:
        return _nothing_wins(costs)
    spread = f"{best.speedup_low:.2f} to {best.speedup_high:.2f}, "
    if best.speedup_low == best.speedup_high:  # one repeat has no spread
        spread = ""
    return (
        f"K = {best.lookahead} at temperature {best.temperature:g} is the fastest: "
        f"{best.speedup:.2f} times plain decoding ({spread}MEASURED)."
    )
