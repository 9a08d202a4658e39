"""What a finished draft is worth in real rounds, on prompts it never learned from.

K is chosen first, by short races at each candidate; the figures are then taken at that
one K from races of their own, so that the choice does not flatter them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from math import prod

from core import metrics
from core.checkpoints.loading import LoadedModel
from core.distillation.pairs import TEMPERATURES, Pair, Racer, counts, median_speedup
from core.distillation.plan import (
    DraftFigures,
    KindFigures,
    LookaheadFigures,
    SpeedFigures,
)
from core.distillation.prompts import TrainingPrompt
from core.lab.bench_figures import RoundSteps, predict
from core.lab.step_costs import round_steps, step_costs
from core.machine import describe_machine

LOOKAHEADS = (1, 2, 3, 4)
ROWS = (1, 2, 3, 5, 9)
_TRIAL = 0.4  # share of the time that choosing K takes, about


def chosen_prompts(
    prompts: Sequence[TrainingPrompt], per_kind: int
) -> list[TrainingPrompt]:
    """Return the first held-out prompts of every kind."""
    found: dict[str, list[TrainingPrompt]] = {}
    for prompt in prompts:
        if prompt.held_out:
            found.setdefault(prompt.kind, []).append(prompt)
    return [p for own in found.values() for p in own[:per_kind]]


def measure(
    target: LoadedModel,
    draft: LoadedModel,
    prompts: Sequence[TrainingPrompt],
    tokens: int,
    should_stop: Callable[[], bool],
) -> Generator[float, None, DraftFigures | None]:
    """Decode held-out ``prompts`` plainly and speculatively, greedily and sampled.

    Yields:
        How far it is, 0 to 1.

    Returns:
        The figures; None when stopped.
    """
    costs = [
        step_costs(loaded.model, rows, should_stop=should_stop)
        for loaded, rows in ((target, ROWS), (draft, ROWS[:1]))
    ]
    deepest = max(LOOKAHEADS)
    in_round = round_steps(target.model, draft.model, deepest, should_stop)
    racer = Racer(target, draft, should_stop)
    for _ in racer.races(prompts[:1], LOOKAHEADS[:1], 8):
        pass  # warms caches and pools up
    short = chosen_prompts(prompts, 1)
    trial = yield from _part(0, _TRIAL, racer.races(short, LOOKAHEADS, tokens // 2))
    if trial is None:
        return None
    tried = tuple(_tried(k, trial) for k in LOOKAHEADS)
    best = best_lookahead(tried)
    pairs = yield from _part(_TRIAL, 1, racer.races(prompts, (best,), tokens))
    if pairs is None or should_stop():
        return None
    steps = RoundSteps(costs[0], in_round)
    return _figures(pairs, tried, steps, costs[1][1], target.device)


def best_lookahead(tried: Sequence[LookaheadFigures]) -> int:
    """Return the K that is best over all temperatures; the smallest of equal ones."""
    return max(tried, key=lambda k: prod(s or 1.0 for s in k.speedups)).lookahead


def _part(
    begin: float, end: float, steps: Generator[float, None, list[Pair] | None]
) -> Generator[float, None, list[Pair] | None]:
    """Pass the progress of ``steps`` on as one part of the whole."""
    while True:
        try:
            done = next(steps)
        except StopIteration as stop:
            return stop.value
        yield begin + (end - begin) * done


def _at(pairs: Sequence[Pair], temperature: float) -> list[Pair]:
    return [pair for pair in pairs if pair.temperature == temperature]


def _tried(lookahead: int, trial: Sequence[Pair]) -> LookaheadFigures:
    own = [pair for pair in trial if pair.lookahead == lookahead]
    found = (median_speedup(_at(own, temperature)) for temperature in TEMPERATURES)
    return LookaheadFigures(lookahead, tuple(found))


def _figures(
    pairs: list[Pair],
    tried: tuple[LookaheadFigures, ...],
    steps: RoundSteps,
    draft_ms: float,
    device: str,
) -> DraftFigures:
    kinds = dict.fromkeys(pair.kind for pair in pairs)
    return DraftFigures(
        lookahead=pairs[0].lookahead,
        target_ms=steps.target_ms[1],
        draft_ms=draft_ms,
        speeds=tuple(_speed(_at(pairs, t), steps) for t in TEMPERATURES),
        kinds=tuple(
            _kind([pair for pair in _at(pairs, t) if pair.kind == kind])
            for kind in kinds
            for t in TEMPERATURES
        ),
        machine=describe_machine(device),
        tried=tried,
    )


def _speed(pairs: list[Pair], steps: RoundSteps) -> SpeedFigures:
    total = counts(pairs)
    return SpeedFigures(
        pairs[0].temperature,
        metrics.acceptance_rate(total),
        metrics.tokens_per_round(total),
        predict([p.fast for p in pairs], [p.plain for p in pairs], steps),
        median_speedup(pairs),
    )


def _kind(pairs: list[Pair]) -> KindFigures:
    total = counts(pairs)
    return KindFigures(
        pairs[0].kind,
        pairs[0].temperature,
        len(pairs),
        metrics.acceptance_rate(total),
        metrics.tokens_per_round(total),
        median_speedup(pairs),
    )
