"""Step costs, round overhead, and our runtime beside transformers' on the same pair.

Everything is measured in one process: the contenders take turns on the first prompt of
each kind, ours also on the rest; the first repeat is not counted. Rates are medians,
speed-ups means over prompts. The prediction is made from the step costs and from rounds
on other prompts than those that are timed.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from core import metrics
from core.codec import encode
from core.config import DecodingConfig
from core.events import LoadProgress, Machine
from core.lab.bench_figures import (
    Rate,
    RoundSteps,
    agreement,
    first_of,
    overhead,
    predict,
    rate,
    speedup,
)
from core.lab.contenders import Contender, Timing
from core.lab.host_reads import reads_per_round
from core.lab.memory_use import MemoryUse
from core.lab.step_costs import floor_ms, read_bandwidth, round_steps, step_costs
from core.runtime.runner import Model

ROWS = (1, 2, 5, 9, 17)
SHORT_CONTEXT, LONG_CONTEXT = 64, 2048  # tokens before each timed step
PROFILED_TOKENS = 32  # a profile of more would be large
OURS = ("plain", "speculative")
Ids = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BenchResult:
    """What a bench found.

    Attributes:
        bandwidth_bytes_per_s: best of 20 reads of 1 GiB.
        floor_ms: the target's weights over that bandwidth.
        target_ms: step of the target by rows.
        draft_ms: step of the draft by rows; empty for a drafter without weights.
        draft_in_round_ms: the draft's steps as they come in a round, the first one
            after a pass of the target, which leaves nothing in the caches.
        round_overhead: rounds over the passes in them, minus 1.
        rates: tokens per second by contender, on the prompts that all of them decode.
        predicted_speedup: mean over other prompts, from step costs; None if nothing
            ran.
        measured_speedup: speculative over plain, ours: mean over all timed prompts,
            median over repeats.
        prompts: how many ``all`` contenders decode, how many ``ours`` do, and how many
            ``others`` the prediction is made from.
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
    draft_in_round_ms: tuple[float, ...]
    round_overhead: float
    rates: dict[str, Rate]
    predicted_speedup: float | None
    measured_speedup: float | None
    prompts: dict[str, int]
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
        timed: prompts that all contenders decode.
        others: prompts that the prediction is made from.
        settings: of all decodings.
        repeats: counted repeats.
        machine: for the result.
        should_stop: asked between decodings.
        memory: of the pair, measured before anything else was in the process.
        ours_only: more that ours decode, by turns as well: speed-up and overhead are
            taken from both.
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
    ours_only: Sequence[Ids] = ()

    def events(self) -> Iterator[LoadProgress | BenchResult]:
        """Yield progress, then the result; no result when stopped."""
        yield LoadProgress("Reading memory")
        bandwidth = read_bandwidth(self.target.facts.device)
        yield LoadProgress("Timing steps")
        stop = self.should_stop
        costs = step_costs(self.target, ROWS, context=SHORT_CONTEXT, should_stop=stop)
        long_context, long_ms = self._long_steps()
        draft, in_round = self._draft_steps()
        timings: dict[str, list[list[Timing]]] = {name: [] for name in self.contenders}
        rounds = self.repeats + 2  # the first one warms up, the last is of the others
        for done, repeat in enumerate(range(self.repeats + 1)):
            if stop():
                return
            yield LoadProgress("Decoding", done / rounds)
            self._repeat(repeat, timings)
        yield LoadProgress("Decoding other prompts", (rounds - 1) / rounds)
        other = {way: self._decode_others(f"ours {way}") for way in OURS}
        if stop():
            return
        plain, fast = timings["ours plain"], timings["ours speculative"]
        yield BenchResult(
            bandwidth_bytes_per_s=bandwidth,
            floor_ms=floor_ms(self.target, bandwidth),
            target_ms=costs,
            draft_ms=draft,
            draft_in_round_ms=in_round,
            round_overhead=overhead(fast),
            rates={
                name: rate(first_of(runs, len(self.timed)))
                for name, runs in timings.items()
            },
            predicted_speedup=predict(
                other["speculative"], other["plain"], RoundSteps(costs, in_round)
            ),
            measured_speedup=speedup(plain, fast),
            prompts={
                "all": len(self.timed),
                "ours": len(self.timed) + len(self.ours_only),
                "others": len(self.others),
            },
            same_tokens=agreement(list(timings.values())),
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

    def _draft_steps(self) -> tuple[dict[int, float], tuple[float, ...]]:
        """Time the draft's steps alone, and as they come in a round."""
        lookahead, stop = self.settings.lookahead, self.should_stop
        if self.draft is None:
            return {}, ()
        alone = step_costs(self.draft, ROWS[:2], should_stop=stop)
        if lookahead == 0:
            return alone, ()
        return alone, round_steps(self.target, self.draft, lookahead, stop)

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
        ours = [name for name in order if name.startswith("ours")]
        turns = itertools.chain(
            itertools.product(self.timed, order),
            itertools.product(self.ours_only, ours),
        )
        for ids, name in turns:
            if self.should_stop():
                return
            found[name].append(self.contenders[name](ids, self.settings))
        if repeat:  # the first one warms caches and thread pools up
            for name in names:
                timings[name].append(found[name])


def as_json(result: BenchResult) -> dict[str, Any]:
    """Return the keys that others rely on (DESIGN.md, section 3) and the rest."""
    rows, costs = zip(*sorted(result.target_ms.items()), strict=True)
    steps = {str(n): ms for n, ms in result.target_ms.items()}
    steps["k+1"] = float(np.interp(result.settings.lookahead + 1, rows, costs))
    sides: dict[str, dict[str, float]] = {}
    for name, found in result.rates.items():
        side, _, way = name.partition(" ")
        sides.setdefault(side, {})[way] = found.median
    return {
        "bandwidth_bytes_per_s": result.bandwidth_bytes_per_s,
        "floor_ms": result.floor_ms,
        "step_ms": {
            "target": steps,
            "draft": {str(n): ms for n, ms in result.draft_ms.items()},
            "draft_in_round": list(result.draft_in_round_ms),
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
        "prompts": result.prompts,
        "same_tokens": result.same_tokens,
        "repeats": result.repeats,
        "settings": encode(result.settings),
        "machine": encode(result.machine),
        "badge": "MEASURED",
    }


def memory_json(memory: MemoryUse | None) -> dict[str, Any] | None:
    """Return the bytes and the ratio that is asked for."""
    return memory and encode(memory) | {"over_needs": memory.over_needs}
