"""Step costs, round overhead, and our runtime beside transformers' on the same pair.

Everything is measured in one process: the contenders take turns on every prompt, the
first repeat is not counted, medians and spreads are over the others. The prediction is
made from the step costs and from rounds on other prompts than those that are timed.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np

from core import metrics
from core.codec import encode
from core.config import DecodingConfig
from core.events import LoadProgress, Machine
from core.lab.contenders import Contender, Timing
from core.lab.host_reads import reads_per_round
from core.lab.memory_use import MemoryUse
from core.lab.step_costs import floor_ms, read_bandwidth, step_costs
from core.runtime.runner import Model

ROWS = (1, 2, 5, 9, 17)
SHORT_CONTEXT, LONG_CONTEXT = 64, 2048  # tokens before each timed step
PROFILED_TOKENS = 32  # a profile of more would be large
OURS = ("plain", "speculative")
Ids = tuple[int, ...]


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
class BenchResult:
    """What a bench found.

    Attributes:
        bandwidth_bytes_per_s: best of 20 reads of 1 GiB.
        floor_ms: the target's weights over that bandwidth.
        target_ms: step of the target by rows.
        draft_ms: step of the draft by rows; empty for a drafter without weights.
        round_overhead: rounds over the passes in them, minus 1.
        rates: tokens per second by contender.
        predicted_speedup: from step costs and other prompts; None if nothing ran.
        measured_speedup: speculative over plain, ours.
        same_tokens: share of the prompts on which all contenders agree token by token.
        settings: of all decodings.
        repeats: counted repeats.
        machine: what it ran on.
        host_reads_per_round: how often a round waits for the GPU; None without one.
        long_context: tokens before the steps of ``long_ms``; 0 if there is no room.
        long_ms: step of the target by rows after a long context.
        memory: of the pair; None where it was not measured.
    """

    bandwidth_bytes_per_s: float
    floor_ms: float
    target_ms: dict[int, float]
    draft_ms: dict[int, float]
    round_overhead: float
    rates: dict[str, Rate]
    predicted_speedup: float | None
    measured_speedup: float | None
    same_tokens: float
    settings: DecodingConfig
    repeats: int
    machine: Machine
    host_reads_per_round: float | None = None
    long_context: int = 0
    long_ms: dict[int, float] = field(default_factory=dict)
    memory: MemoryUse | None = None


@dataclass(frozen=True, slots=True)
class Bench:
    """What is benched.

    Attributes:
        target: the target.
        draft: the draft's weights, or None.
        contenders: by name; ``ours plain`` and ``ours speculative`` among them.
        timed: prompts that are timed.
        others: prompts that the prediction is made from.
        settings: of all decodings.
        repeats: counted repeats.
        machine: for the result.
        should_stop: asked between decodings.
        memory: of the pair, measured before anything else was in the process.
    """

    target: Model
    draft: Model | None
    contenders: dict[str, Contender]
    timed: Sequence[Ids]
    others: Sequence[Ids]
    settings: DecodingConfig
    repeats: int
    machine: Machine
    should_stop: Callable[[], bool] = field(default=lambda: False)
    memory: MemoryUse | None = None

    def events(self) -> Iterator[LoadProgress | BenchResult]:
        """Yield progress, then the result; no result when stopped."""
        yield LoadProgress("Reading memory")
        bandwidth = read_bandwidth(self.target.facts.device)
        yield LoadProgress("Timing steps")
        stop = self.should_stop
        costs = step_costs(self.target, ROWS, context=SHORT_CONTEXT, should_stop=stop)
        long_context, long_ms = self._long_steps()
        draft: dict[int, float] = {}
        if self.draft:
            draft = step_costs(self.draft, ROWS[:2], should_stop=stop)
        timings: dict[str, list[list[Timing]]] = {name: [] for name in self.contenders}
        for done, repeat in enumerate(range(self.repeats + 1)):
            if stop():
                return
            yield LoadProgress("Decoding", done / (self.repeats + 2))
            self._repeat(repeat, timings)
        yield LoadProgress("Decoding other prompts", 1.0)
        other = {way: self._decode_others(f"ours {way}") for way in OURS}
        if stop():
            return
        plain, fast = timings["ours plain"], timings["ours speculative"]
        yield BenchResult(
            bandwidth_bytes_per_s=bandwidth,
            floor_ms=floor_ms(self.target, bandwidth),
            target_ms=costs,
            draft_ms=draft,
            round_overhead=_overhead(fast),
            rates={name: _rate(runs) for name, runs in timings.items()},
            predicted_speedup=predict(
                other["speculative"], other["plain"], costs, draft.get(1, 0.0)
            ),
            measured_speedup=_speedup(plain, fast),
            same_tokens=_agreement(timings),
            settings=self.settings,
            repeats=self.repeats,
            machine=self.machine,
            host_reads_per_round=reads_per_round(
                self.target.facts.device, self._play_briefly
            ),
            long_context=long_context,
            long_ms=long_ms,
            memory=self.memory,
        )

    def _long_steps(self) -> tuple[int, dict[int, float]]:
        """Time steps after as long a context as there is room for."""
        room = self.target.facts.context_length - max(ROWS)
        context = min(LONG_CONTEXT, room)
        if context <= SHORT_CONTEXT:
            return 0, {}
        stop = self.should_stop
        return context, step_costs(self.target, ROWS, context=context, should_stop=stop)

    def _play_briefly(self) -> int:
        """Decode a few tokens and return the rounds that it took."""
        tokens = min(PROFILED_TOKENS, self.settings.max_new_tokens)
        settings = dataclasses.replace(self.settings, max_new_tokens=tokens)
        return self.contenders["ours speculative"](
            self.others[0], settings
        ).counts.rounds

    def _decode_others(self, name: str) -> list[Timing]:
        return [
            self.contenders[name](ids, self.settings)
            for ids in self.others
            if not self.should_stop()
        ]

    def _repeat(self, repeat: int, timings: dict[str, list[list[Timing]]]) -> None:
        """Let every contender decode every prompt; who begins changes by turns."""
        names = list(self.contenders)
        order = names[repeat % len(names) :] + names[: repeat % len(names)]
        found: dict[str, list[Timing]] = {name: [] for name in names}
        for ids, name in itertools.product(self.timed, order):
            if self.should_stop():
                return
            found[name].append(self.contenders[name](ids, self.settings))
        if repeat:  # the first one warms caches and thread pools up
            for name in names:
                timings[name].append(found[name])


def predict(
    fast: Sequence[Timing],
    plain: Sequence[Timing],
    target_ms: dict[int, float],
    draft_ms: float,
) -> float | None:
    """Return the speed-up that step costs promise for rounds like these.

    Args:
        fast: speculative rounds on other prompts than those that are timed; their own
            work beside the passes is taken over, the passes' times are not.
        plain: plain decoding of the same prompts, for its own work.
        target_ms: step of the target by rows.
        draft_ms: one step of the draft.
    """
    rows = sorted(target_ms)
    costs = [target_ms[n] for n in rows]
    lookaheads = [k for timing in fast for k in timing.lookaheads]
    passes_ms = sum(
        k * draft_ms + float(np.interp(k + 1, rows, costs)) for k in lookaheads
    )
    emitted = sum(timing.counts.emitted for timing in fast)
    plain_ms = target_ms[1] + _own_work_ms(plain)
    return metrics.ratio(
        emitted * plain_ms, passes_ms + _own_work_ms(fast) * len(lookaheads)
    )


def _own_work_ms(timings: Sequence[Timing]) -> float:
    """Return what a round costs beside the models' passes."""
    rounds = sum(timing.counts.rounds for timing in timings)
    spent = sum(timing.rounds_ms - timing.forwards_ms for timing in timings)
    return metrics.ratio(spent, rounds) or 0.0


def _rates(timings: Sequence[Timing]) -> list[float]:
    return [t.tokens_per_second for t in timings if t.tokens_per_second]


def _rate(runs: list[list[Timing]]) -> Rate:
    each = [median(_rates(run)) for run in runs if _rates(run)]
    every = [rate for run in runs for rate in _rates(run)]
    if not every:
        return Rate(0.0, 0.0, 0.0)
    return Rate(median(every), min(each), max(each))


def _overhead(runs: list[list[Timing]]) -> float:
    flat = [timing for run in runs for timing in run]
    forwards = sum(timing.forwards_ms for timing in flat)
    return (metrics.ratio(sum(t.rounds_ms for t in flat), forwards) or 1.0) - 1.0


def _speedup(plain: list[list[Timing]], fast: list[list[Timing]]) -> float | None:
    """Return the median over prompts and repeats of the ratio in the same repeat."""
    pairs = zip(itertools.chain(*plain), itertools.chain(*fast), strict=False)
    ratios = [
        b.tokens_per_second / a.tokens_per_second
        for a, b in pairs
        if a.tokens_per_second and b.tokens_per_second
    ]
    return median(ratios) if ratios else None


def _agreement(timings: dict[str, list[list[Timing]]]) -> float:
    first = [runs[0] for runs in timings.values() if runs]
    same = [len({t.tokens for t in row}) == 1 for row in zip(*first, strict=False)]
    return sum(same) / len(same) if same else 0.0


def as_json(result: BenchResult) -> dict[str, Any]:
    """Return the keys that others rely on (DESIGN.md, section 3) and the rest."""
    rows, costs = zip(*sorted(result.target_ms.items()), strict=True)
    steps = {str(n): ms for n, ms in result.target_ms.items()}
    steps["k+1"] = float(np.interp(result.settings.lookahead + 1, rows, costs))
    sides: dict[str, dict[str, float]] = {}
    for name, rate in result.rates.items():
        side, _, way = name.partition(" ")
        sides.setdefault(side, {})[way] = rate.median
    return {
        "bandwidth_bytes_per_s": result.bandwidth_bytes_per_s,
        "floor_ms": result.floor_ms,
        "step_ms": {
            "target": steps,
            "draft": {str(n): ms for n, ms in result.draft_ms.items()},
        },
        "step_ms_long": {
            "context": result.long_context,
            "target": {str(n): ms for n, ms in result.long_ms.items()},
        },
        "step_over_floor": metrics.ratio(result.target_ms[1], result.floor_ms),
        "five_rows_over_one": metrics.ratio(result.target_ms[5], result.target_ms[1]),
        "round_overhead": result.round_overhead,
        "host_reads_per_round": result.host_reads_per_round,
        "memory": memory_json(result.memory),
        **sides,
        "spread": {name: [r.low, r.high] for name, r in result.rates.items()},
        "predicted_speedup": result.predicted_speedup,
        "measured_speedup": result.measured_speedup,
        "same_tokens": result.same_tokens,
        "repeats": result.repeats,
        "settings": encode(result.settings),
        "machine": encode(result.machine),
        "badge": "MEASURED",
    }


def memory_json(memory: MemoryUse | None) -> dict[str, Any] | None:
    """Return the bytes and the ratio that is asked for."""
    return memory and encode(memory) | {"over_needs": memory.over_needs}
