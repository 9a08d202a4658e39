"""What one step of a model costs, by rows, and the floor that memory sets."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Sequence
from statistics import median

import torch

from core.runtime import threads
from core.runtime.clock import Clock
from core.runtime.runner import Model

_READ_BYTES = 1 << 30
_READS = 20
TOKEN_STEPS = 5


def step_costs(
    model: Model,
    widths: Sequence[int],
    *,
    context: int = 64,
    repeats: int = 15,
    budget_ms: float = math.inf,
    should_stop: Callable[[], bool] = lambda: False,
) -> dict[int, float]:
    """Return the median milliseconds of a step by rows.

    All steps start from the same context; widths take turns, so that a machine whose
    speed drifts does not favour one of them.

    Args:
        model: what is stepped.
        widths: numbers of rows, 1 to 17.
        context: tokens in the cache before each step.
        repeats: timed steps of each width, after one that is not timed.
        budget_ms: no further repeat begins after this time; one is always made.
        should_stop: asked between chunks of the context and between steps.

    Returns:
        Milliseconds by rows; nothing where it was stopped before the first step.
    """
    runner = model.new_runner(context + max(widths))
    ids = [i % model.facts.vocabulary_size for i in range(5, 5 + context)]
    if not runner.prefill(ids, lambda done: not should_stop()):
        return {}
    clock = Clock(model.facts.device)
    times: dict[int, list[float]] = {width: [] for width in widths}
    end = clock.now_ms() + budget_ms
    for repeat in range(repeats + 1):
        if repeat > 1 and clock.now_ms() > end:
            break
        for width in widths:
            if should_stop():
                break
            begin = clock.now_ms()
            runner.step(ids[:width])
            took = clock.now_ms() - begin
            runner.truncate(context)
            if repeat:
                times[width].append(took)
    return {width: median(taken) for width, taken in times.items() if taken}


def round_steps(
    target: Model,
    draft: Model,
    lookahead: int,
    should_stop: Callable[[], bool] = lambda: False,
    *,
    context: int = 64,
    repeats: int = 15,
) -> tuple[float, ...]:
    """Return the median milliseconds of a draft's steps as they come in a round.

    Alone, a small draft finds its weights in the caches. In a round a pass of the
    target has pushed them out, so that the first steps after it take longer.

    Args:
        target: steps over ``lookahead`` + 1 rows before the draft does.
        draft: steps ``lookahead`` times over one row.
        lookahead: K.
        should_stop: asked between rounds.
        context: tokens in both caches before each round.
        repeats: timed rounds, after one that is not timed.

    Returns:
        [lookahead]; nothing where it was stopped before the first round.
    """
    both = [model.new_runner(context + lookahead + 1) for model in (target, draft)]
    known = min(model.facts.vocabulary_size for model in (target, draft))
    ids = [i % known for i in range(5, 5 + context + lookahead)]
    if not all(
        runner.prefill(ids[:context], lambda done: not should_stop()) for runner in both
    ):
        return ()
    clock, rounds = Clock(target.facts.device), []
    for _ in range(repeats + 1):
        if should_stop():
            break
        both[0].step(ids[: lookahead + 1])
        marks = [clock.now_ms()]
        for place in range(lookahead):
            both[1].step(ids[place : place + 1])
            marks.append(clock.now_ms())
        for runner in both:
            runner.truncate(context)
        rounds.append([b - a for a, b in itertools.pairwise(marks)])
    return tuple(median(steps) for steps in zip(*rounds[1:], strict=True))


def token_cost(
    model: Model, rows: int, near: int, far: int, should_stop: Callable[[], bool]
) -> float:
    """Return what a row of a step costs more with each token of context, milliseconds.

    Args:
        model: what is stepped.
        rows: of each step.
        near: tokens in the cache.
        far: more of them.
        should_stop: asked between steps.
    """
    ids = [i % model.facts.vocabulary_size for i in range(5, 5 + far)]
    runners = [model.new_runner(context + rows) for context in (near, far)]
    for runner, context in zip(runners, (near, far), strict=True):
        if not runner.prefill(ids[:context], lambda done: not should_stop()):
            return 0.0
    clock, longer = Clock(model.facts.device), list[float]()
    for repeat in range(TOKEN_STEPS + 1):
        took = [
            _timed(clock, lambda r=runner: r.step(ids[:rows])) for runner in runners
        ]
        for runner, context in zip(runners, (near, far), strict=True):
            runner.truncate(context)
        if repeat:
            longer.append(took[1] - took[0])
    return max(0.0, median(longer)) / rows / (far - near)


def read_bandwidth(device: str) -> float:
    """Return bytes per second, the best of 20 read-only sums over 1 GiB."""
    threads.torch_on_all_cores()
    block = torch.ones(_READ_BYTES // 4, device=device)
    clock = Clock(device)
    best = min(_timed(clock, block.sum) for _ in range(_READS))
    return _READ_BYTES / best * 1e3


def _timed(clock: Clock, work: Callable[[], object]) -> float:
    begin = clock.now_ms()
    work()
    return clock.now_ms() - begin


def floor_ms(model: Model, bandwidth: float) -> float:
    """Return the least milliseconds of a step: its weights read once from memory."""
    return model.facts.memory_bytes / bandwidth * 1e3


def wall_ms() -> float:
    """Return the wall clock in milliseconds."""
    return time.perf_counter() * 1e3
