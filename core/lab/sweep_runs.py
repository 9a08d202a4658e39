"""From single decodings to the cells of a map. Standard library only.

A repeat counts with all its prompts together: their times are added and divided by
their tokens, so that a prompt weighs as much as it takes. While no repeat is whole yet,
the one that is under way stands for it.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from core import metrics
from core.events import Counts, StepCosts
from core.lab.cost_model import at_context, best, by_place, curve, typical
from core.lab.sweep_events import (
    ALL_KINDS,
    AUTO,
    FIGURE_TOKENS,
    SweepCell,
    SweepPlan,
)


@dataclass(frozen=True, slots=True)
class SweepRun:
    """One decoding of one prompt.

    Attributes:
        lookahead: K; 0 is the plain baseline, ``AUTO`` a chosen one.
        temperature: of draft and target.
        prompt_kind: of the library.
        prompt: its title.
        repeat: from 1.
        counts: of its rounds.
        decode_ms: end of prefill to the last commit.
        drafted_at: for each place, from 1, the rounds that drafted it.
        accepted_at: for each place the rounds that accepted it.
        proposing: rounds that proposed anything.
        costs: of the pair's steps just before; the baseline has them.
        context: tokens in the caches half-way through, prompt included.
    """

    lookahead: int
    temperature: float
    prompt_kind: str
    prompt: str
    repeat: int
    counts: Counts
    decode_ms: float
    drafted_at: tuple[int, ...] = ()
    accepted_at: tuple[int, ...] = ()
    proposing: int = 0
    costs: StepCosts | None = None
    context: float = 0.0

    @property
    def turn(self) -> tuple[float, str, str, int]:
        """Names what was decoded beside it, the baseline among them."""
        return self.temperature, self.prompt_kind, self.prompt, self.repeat


Runs = Sequence[SweepRun]


def ms_per_token(runs: Iterable[SweepRun]) -> float | None:
    """Return the time of all runs over their tokens."""
    kept = list(runs)
    tokens = sum(run.counts.emitted for run in kept)
    return metrics.ratio(sum(run.decode_ms for run in kept), tokens)


def all_cells(plan: SweepPlan, runs: Runs, costs: StepCosts) -> tuple[SweepCell, ...]:
    """Return every cell of a plan: the pooled ones, then those of each kind."""
    kinds = (ALL_KINDS, *plan.kinds)
    return tuple(
        cell(plan, runs, costs, lookahead, temperature, kind)
        for kind in kinds
        for temperature in plan.temperatures
        for lookahead in plan.lookaheads
    )


def cell(
    plan: SweepPlan,
    runs: Runs,
    costs: StepCosts,
    lookahead: int,
    temperature: float,
    kind: str,
) -> SweepCell:
    """Return one cell from all runs of a sweep.

    Args:
        plan: the grid; tells what a whole repeat is.
        runs: every run that there is.
        costs: of the pair, for predictions where the runs have none of their own.
        lookahead: K of the cell.
        temperature: of the cell.
        kind: its prompt kind, or ``all``.
    """
    kinds = plan.kinds if kind == ALL_KINDS else (kind,)
    here = [r for r in runs if r.temperature == temperature and r.prompt_kind in kinds]
    own = [run for run in here if run.lookahead == lookahead]
    prompts = len(kinds) * plan.prompts_per_kind
    counted = _whole_repeats(own, prompts, plan.repeats)
    if not counted:
        return SweepCell(lookahead, temperature, kind)
    ratios = _ratios(counted, {run.turn: run for run in here if run.lookahead == 0})
    repeats = _by_repeat(counted)
    return SweepCell(
        lookahead=lookahead,
        temperature=temperature,
        prompt_kind=kind,
        runs=len(counted),
        complete=len(counted) == prompts * plan.repeats,
        ms_per_token=_median(ms_per_token(each) for each in repeats),
        speedup=_median(ratios),
        speedup_low=min(ratios, default=None),
        speedup_high=max(ratios, default=None),
        predicted_speedup=_predicted(
            here, _costs(runs, costs), lookahead, greedy=temperature == 0
        ),
        **_figures(counted),
    )


def _by_repeat(runs: Runs) -> list[list[SweepRun]]:
    return [
        [run for run in runs if run.repeat == repeat]
        for repeat in sorted({run.repeat for run in runs})
    ]


def _whole_repeats(runs: Runs, prompts: int, repeats: int) -> list[SweepRun]:
    """Return the runs of the repeats that are whole, or of all if none is."""
    wanted = [run for run in runs if run.repeat <= repeats]
    whole = [each for each in _by_repeat(wanted) if len(each) == prompts]
    return [run for each in whole for run in each] or wanted


def _ratios(runs: Runs, plain: dict[tuple, SweepRun]) -> list[float]:
    """Return plain over this K for each repeat, on the prompts that both decoded."""
    found = []
    for each in _by_repeat(runs):
        both = [run for run in each if run.turn in plain]
        slow, fast = ms_per_token(plain[run.turn] for run in both), ms_per_token(both)
        if slow and fast:
            found.append(slow / fast)
    return found


def _predicted(
    here: Runs, costs: StepCosts, lookahead: int, *, greedy: bool
) -> float | None:
    """Return the speed-up that the other K's acceptance promises for this one.

    By prompt, then together: each weighs as many tokens as its plain text has.
    """
    if lookahead == 0:
        return 1.0
    plain = fast = 0.0
    for prompt in sorted({(run.prompt_kind, run.prompt) for run in here}):
        mine = [r for r in here if (r.prompt_kind, r.prompt) == prompt]
        others = [run for run in mine if run.lookahead not in (0, lookahead)]
        now = at_context(costs, statistics.fmean(run.context for run in mine))
        promised = _promised(others, now, lookahead, greedy=greedy)
        if promised is None:
            return None
        tokens = sum(run.counts.emitted for run in mine if run.lookahead == 0)
        plain += tokens
        fast += tokens / promised
    return metrics.ratio(plain, fast)


def _costs(runs: Runs, costs: StepCosts) -> StepCosts:
    """Return what the steps cost all through a sweep, or ``costs`` without a timing.

    A machine's speed drifts, and one quick timing says little: a cell is the median of
    its repeats, and its costs are the medians of all that were taken between the runs.
    """
    taken = [run.costs for run in runs if run.costs is not None]
    return typical(taken) if taken else costs


def _promised(
    others: Runs, costs: StepCosts, lookahead: int, *, greedy: bool
) -> float | None:
    counts = sum((run.counts for run in others), Counts())
    rate = metrics.acceptance_rate(counts)
    if rate is None:
        return None
    share = metrics.ratio(sum(run.proposing for run in others), counts.rounds) or 0.0
    acceptance = by_place(acceptance_by_place(others), rate, share)
    if acceptance is None:
        return None
    table = curve(costs, acceptance, greedy=greedy)
    return (best(table) if lookahead == AUTO else table[lookahead]).speedup


def acceptance_by_place(runs: Runs) -> tuple[float | None, ...]:
    """Return accepted at a place over rounds that drafted it, of all runs together."""
    places = range(max((len(run.drafted_at) for run in runs), default=0))

    def total(counts: Callable[[SweepRun], tuple[int, ...]], place: int) -> int:
        return sum(counts(run)[place] for run in runs if place < len(counts(run)))

    return tuple(
        metrics.ratio(
            total(lambda run: run.accepted_at, i), total(lambda run: run.drafted_at, i)
        )
        for i in places
    )


def _figures(runs: Runs) -> dict:
    counts = sum((run.counts for run in runs), Counts())
    times = [
        FIGURE_TOKENS * run.decode_ms / run.counts.emitted
        for run in runs
        if run.counts.emitted
    ]
    return {
        "counts": counts,
        "acceptance_rate": metrics.acceptance_rate(counts),
        "acceptance_by_place": acceptance_by_place(runs),
        "tokens_per_round": metrics.tokens_per_round(counts),
        "papers_acceptance": metrics.papers_acceptance(counts),
        "round_ms": metrics.ratio(sum(r.decode_ms for r in runs), counts.rounds),
        "ms_128_mean": statistics.fmean(times) if times else None,
        "ms_128_spread": statistics.stdev(times) if len(times) > 1 else None,
        "ms_128_p90": _p90(times),
    }


def _p90(values: list[float]) -> float | None:
    if len(values) < 2:
        return None
    return statistics.quantiles(values, n=10, method="inclusive")[-1]


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def best_cell(cells: Iterable[SweepCell]) -> SweepCell | None:
    """Return the pooled cell of the fixed K with the largest speed-up, if any."""
    pooled = [
        c
        for c in cells
        if c.prompt_kind == ALL_KINDS and c.lookahead != AUTO and c.speedup is not None
    ]
    return max(pooled, key=lambda c: c.speedup or 0.0, default=None)
