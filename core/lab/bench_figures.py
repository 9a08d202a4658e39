"""What a bench makes of its timings."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

import numpy as np

from core import metrics
from core.lab.contenders import Timing

Runs = Sequence[Sequence[Timing]]  # by repeat and prompt


@dataclass(frozen=True, slots=True)
class Rate:
    """Tokens per second.

    Attributes:
        median: over prompts and counted repeats.
        low: the smallest repeat's median over prompts.
        high: the largest.
    """

    median: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class RoundSteps:
    """What the passes of rounds cost, in milliseconds.

    Attributes:
        target_ms: by rows.
        draft_ms: of a round's proposals, one by one; empty without a draft model.
    """

    target_ms: dict[int, float]
    draft_ms: tuple[float, ...] = ()

    def passes_ms(self, lookahead: int) -> float:
        """Return what all passes of a round with so many proposals take."""
        rows = sorted(self.target_ms)
        costs = [self.target_ms[n] for n in rows]
        verify = float(np.interp(lookahead + 1, rows, costs))
        return sum(self.draft_ms[:lookahead]) + verify


def predict(
    fast: Sequence[Timing], plain: Sequence[Timing], steps: RoundSteps
) -> float | None:
    """Return the speed-up that step costs promise for rounds like these.

    It is the mean over prompts, as the measured one is.

    Args:
        fast: speculative rounds on other prompts than those that are timed; their own
            work beside the passes is taken over, the passes' times are not.
        plain: plain decoding of the same prompts, for its own work.
        steps: what passes cost.
    """
    plain_ms = steps.passes_ms(0) + _own_work_ms(plain)
    own_ms = _own_work_ms(fast)
    found = [
        metrics.ratio(
            timing.counts.emitted * plain_ms,
            sum(steps.passes_ms(k) + own_ms for k in timing.lookaheads),
        )
        for timing in fast
    ]
    known = [speedup for speedup in found if speedup]
    return fmean(known) if known else None


def _own_work_ms(timings: Sequence[Timing]) -> float:
    """Return what a round costs beside the models' passes."""
    rounds = sum(timing.counts.rounds for timing in timings)
    spent = sum(timing.rounds_ms - timing.forwards_ms for timing in timings)
    return metrics.ratio(spent, rounds) or 0.0


def rate(runs: Runs) -> Rate:
    """Return the tokens per second of one contender."""
    each = [median(_rates(run)) for run in runs if _rates(run)]
    every = [rate for run in runs for rate in _rates(run)]
    if not every:
        return Rate(0.0, 0.0, 0.0)
    return Rate(median(every), min(each), max(each))


def _rates(timings: Sequence[Timing]) -> list[float]:
    return [t.tokens_per_second for t in timings if t.tokens_per_second]


def overhead(runs: Runs) -> float:
    """Return the time of rounds over the passes in them, minus 1."""
    flat = [timing for run in runs for timing in run]
    forwards = sum(timing.forwards_ms for timing in flat)
    return (metrics.ratio(sum(t.rounds_ms for t in flat), forwards) or 1.0) - 1.0


def speedup(plain: Runs, fast: Runs) -> float | None:
    """Return the mean over prompts of the ratio of rates, the median over repeats."""
    repeats = [_speedups(*run) for run in zip(plain, fast, strict=False)]
    found = [fmean(ratios) for ratios in repeats if ratios]
    return median(found) if found else None


def _speedups(plain: Sequence[Timing], fast: Sequence[Timing]) -> list[float]:
    return [
        b.tokens_per_second / a.tokens_per_second
        for a, b in zip(plain, fast, strict=False)
        if a.tokens_per_second and b.tokens_per_second
    ]


def agreement(runs: Sequence[Runs]) -> float:
    """Return the share of prompts on which all contenders have the same tokens."""
    first = [repeats[0] for repeats in runs if repeats]
    same = [len({t.tokens for t in row}) == 1 for row in zip(*first, strict=False)]
    return sum(same) / len(same) if same else 0.0


def first_of(runs: Runs, count: int) -> Runs:
    """Return the timings of the first ``count`` prompts only."""
    return [list(itertools.islice(run, count)) for run in runs]
