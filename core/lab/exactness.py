"""Checks of losslessness on a loaded pair: the engine behind ``draftrace verify``.

Three kinds, from the bluntest to the sharpest. At temperature 0 and under shared noise
the speculative lane must emit plain decoding's very tokens. Above 0 the law of the
output is summed exactly over every path on the pair's own logits, and many draws
through the rule are held against it by a chi-square that would notice a law 0.02 away.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass

import torch

from core.checkpoints.progress import Cancelled
from core.config import Coupling, DecodingConfig
from core.decoding import device_round
from core.decoding.divergence import divergence
from core.decoding.lane import LanePlan, LaneRun
from core.events import (
    Divergence,
    DivergenceKind,
    Lane,
    RoundFinished,
    TokenOutcome,
)
from core.lab import device_branches, statistics
from core.lab.batched import Tree, sample, warped_rows
from core.lab.checks import Check, CheckFinished, ChecksFinished, CheckStarted
from core.lab.enumeration import output_law, total_variation
from core.lab.logit_tree import ROOT, best_candidates, read_tree
from core.lab.mutants import MUTANTS
from core.lab.table_model import TableModel, table_sequence
from core.runtime.runner import Model

CANDIDATES, DEPTH = 8, 3
EXACT = 1e-12
ALPHA = 1e-4  # chance of a false alarm of the chi-square
DISTANCE, POWER = 0.02, 0.99
FEWEST_SAMPLES, MOST_SAMPLES = 100_000, 1_600_000
IDENTITY_TOKENS = 64
WARM = 0.8  # temperature of the checks above 0, unless the settings have one

Event = CheckStarted | CheckFinished | ChecksFinished
Applied = Callable[[], AbstractContextManager[None]]


@dataclass(frozen=True)
class _Pair:
    """What the checks run on.

    Attributes:
        plan: of the speculative lane.
        draft: the draft's weights; None for a drafter without any.
        applied: enters a mutant round what is checked.
        should_stop: asked between the readings of the small tree.
        on_device: the law is that of rounds that a device decides; never with a mutant,
            which replaces steps of those that Python decides.
    """

    plan: LanePlan
    draft: Model | None
    applied: Applied
    should_stop: Callable[[], bool]
    on_device: bool = False

    @functools.cached_property
    def tables(self) -> tuple[TableModel, TableModel]:
        """The real logits on a small tree under the prompt: draft, target."""
        return pair_tables(self.plan, self.draft, self.should_stop)


def verify(
    plan: LanePlan,
    draft: Model | None = None,
    *,
    mutant: str | None = None,
    until_failure: bool = False,
    should_stop: Callable[[], bool] = lambda: False,
) -> Iterator[Event]:
    """Check that the pair is lossless.

    Args:
        plan: of the speculative lane; its prompt and settings are the ones checked.
        draft: the draft's weights; None for a drafter without any.
        mutant: name of a wrong variant that the checks must fail on.
        until_failure: leave out the checks after the first that fails.
        should_stop: asked between checks, rounds and readings of the small tree.

    Yields:
        CheckStarted and CheckFinished for each check, ChecksFinished at the end.
    """
    applied = MUTANTS[mutant].applied if mutant else contextlib.nullcontext
    on_device = plan.decides_on_device and mutant is None
    pair, done = _Pair(plan, draft, applied, should_stop, on_device), []
    for number, (name, check) in enumerate(CHECKS.items()):
        yield CheckStarted(name, number / len(CHECKS))
        failed = any(not check.passed for check in done)
        if should_stop() or (until_failure and failed):
            break
        begin = time.perf_counter()
        try:
            found = check(pair)
        except Cancelled:
            break
        seconds = time.perf_counter() - begin
        done.append(dataclasses.replace(found, name=name, seconds=seconds))
        yield CheckFinished(done[-1])
    passed = len(done) == len(CHECKS) and all(check.passed for check in done)
    yield ChecksFinished(tuple(done), passed, cancelled=should_stop())


def longest_run(settings: DecodingConfig) -> DecodingConfig:
    """Return settings whose run needs the most memory of all that is checked."""
    limit = min(IDENTITY_TOKENS, settings.max_new_tokens)
    return dataclasses.replace(settings, max_new_tokens=limit)


def _check(passed: bool, statistic: float, samples: int, detail: str) -> Check:
    return Check("", passed, statistic, None, samples, None, 0.0, detail)


# --- identity ------------------------------------------------------------------------


def _greedy(pair: _Pair) -> Check:
    return _identity(pair, dataclasses.replace(pair.plan.settings, temperature=0.0))


def _shared_noise(pair: _Pair) -> Check:
    return _identity(
        pair, dataclasses.replace(_warm(pair), coupling=Coupling.SHARED_NOISE)
    )


def _warm(pair: _Pair) -> DecodingConfig:
    settings = pair.plan.settings
    return dataclasses.replace(settings, temperature=settings.temperature or WARM)


def _identity(pair: _Pair, settings: DecodingConfig) -> Check:
    """Compare both lanes token by token; within rounding they may part at a near tie.

    The end token is ignored, so that a short answer is no short check.
    """
    settings = dataclasses.replace(
        longest_run(settings),
        lookahead=max(1, settings.lookahead),
        ignore_eos=True,
        stop=(),
    )
    plain = _tokens(pair, settings, Lane.PLAIN)
    try:
        with pair.applied():
            fast = _tokens(pair, settings, Lane.SPECULATIVE)
    except (AssertionError, IndexError, RuntimeError) as error:
        return _check(False, 0, 0, f"The speculative lane broke: {error}")
    facts = pair.plan.target.facts
    parted = divergence(plain, fast, row_invariant=facts.row_invariant)
    if parted is None:
        same = len(plain)
        return _check(True, same, same, f"All {same} tokens are plain decoding's.")
    return _parted(parted, len(plain))


def _parted(parted: Divergence, samples: int) -> Check:
    near = parted.kind is DivergenceKind.NEAR_TIE
    kind = "a near tie, which rounding decides" if near else "what no rounding explains"
    gap = "" if parted.gap is None else f" (gap {parted.gap:.3g})"
    detail = f"Token {parted.position} differs at {kind}{gap}."
    found = _check(near, parted.position, samples, detail)
    return dataclasses.replace(found, near_tie=near)


def _tokens(pair: _Pair, settings: DecodingConfig, lane: Lane) -> list[TokenOutcome]:
    drafter = pair.plan.new_drafter if lane is Lane.SPECULATIVE else None
    plan = dataclasses.replace(
        pair.plan, lane=lane, settings=settings, new_drafter=drafter
    )
    run = LaneRun(plan, lambda: settings, pair.should_stop)
    rounds = (event for event in run.events() if isinstance(event, RoundFinished))
    return [token for event in rounds for token in event.tokens]


# --- the law -------------------------------------------------------------------------


def pair_tables(
    plan: LanePlan,
    draft: Model | None,
    should_stop: Callable[[], bool] = lambda: False,
) -> tuple[TableModel, TableModel]:
    """Return the pair's real logits on a small tree under the prompt: draft, target.

    Args:
        plan: its target and its prompt.
        draft: the draft's weights; None for a drafter without any.
        should_stop: asked between the readings.

    Raises:
        Cancelled: if the person asked to stop.
    """
    models = [m for m in (plan.target, draft) if m is not None]
    prompt = plan.prompt_ids[-_room(models) :]
    candidates = best_candidates(models, prompt, CANDIDATES, should_stop)
    tables = [read_tree(m, prompt, candidates, DEPTH, should_stop) for m in models]
    return (tables[1] if len(tables) > 1 else _certain(tables[0])), tables[0]


def _room(models: list[Model]) -> int:
    return min(model.facts.context_length for model in models) - DEPTH


def _certain(target: TableModel) -> TableModel:
    """Return a draft that is certain of the target's second choice."""

    def logits(prefix: tuple[int, ...]) -> torch.Tensor:
        row = torch.full_like(target.row(prefix), -torch.inf)
        row[target.row(prefix).topk(2).indices[-1]] = 0.0
        return row

    return TableModel(logits, target.facts)


def law_settings(settings: DecodingConfig) -> DecodingConfig:
    """Return settings for the law on the small tree; it is warm in any case."""
    # Three tokens of eight candidates: knobs for a whole vocabulary stay as they are.
    return dataclasses.replace(
        settings,
        temperature=settings.temperature or WARM,
        lookahead=DEPTH - 1,
        max_new_tokens=DEPTH,
        coupling=Coupling.MAXIMAL,
        stop=(),
        ignore_eos=False,
    )


def _exact_law(pair: _Pair) -> Check:
    """Sum all paths of the real rounds and compare with plain decoding's law.

    One candidate counts as an end token, so that ends inside a block are summed too.
    Rounds that a device decides are played on a CPU.
    """
    draft, target = pair.tables
    settings, rounds = law_settings(pair.plan.settings), [0]
    on_device = pair.on_device and device_round.can_play(settings)
    play = device_branches.play if on_device else None

    def count(*_: object) -> None:
        rounds[0] += 1

    start = functools.partial(table_sequence, target, eos_ids=(CANDIDATES // 2,))
    plain = output_law(start(None, ROOT, settings), settings)
    try:
        with pair.applied():
            law = output_law(start(draft, ROOT, settings), settings, count, play)
    except (AssertionError, IndexError) as error:
        return _check(False, 1.0, rounds[0], f"A round broke: {error}")
    gap = total_variation(law, plain)
    detail = (
        f"Over {len(plain)} outputs of up to {DEPTH} tokens the total variation is "
        f"{gap:.1e}."
    )
    return _check(gap < EXACT, gap, rounds[0], detail)


def _sampled_law(pair: _Pair) -> Check:
    """Hold many draws through the rule against the exact law."""
    draft, target = pair.tables
    settings = law_settings(pair.plan.settings)
    law = output_law(table_sequence(target, None, ROOT, settings), settings)
    expected = {outcome.tokens: share for outcome, share in law.items()}
    samples, power = _enough(len(expected))
    with pair.applied():
        rows = (warped_rows(t, ROOT, DEPTH, settings) for t in (draft, target))
        seeds = settings.seed + torch.arange(samples)
        tokens, _ = sample(Tree(*rows), seeds, DEPTH, settings)
    counts = Counter(map(tuple, tokens.tolist()))
    cells = sorted(expected.keys() | counts.keys())
    fit = statistics.chi_square(
        [counts[c] for c in cells], [expected.get(c, 0.0) for c in cells]
    )
    detail = f"{fit}; power {power:.3f} against a total variation of {DISTANCE}."
    return Check(
        "", fit.p_value > ALPHA, fit.statistic, fit.p_value, samples, power, 0.0, detail
    )


def _enough(cells: int) -> tuple[int, float]:
    """Return how many draws give the wanted power, and the power that they give.

    Whichever law lies ``DISTANCE`` away, its effect is at least (2 * DISTANCE)^2 by
    Cauchy and Schwarz. Cells that are poured together only lower the degrees.
    """
    samples = FEWEST_SAMPLES
    while True:
        power = statistics.power(max(1, cells - 1), (2 * DISTANCE) ** 2, samples, ALPHA)
        if power >= POWER or samples >= MOST_SAMPLES:
            return samples, power
        samples *= 2


CHECKS: dict[str, Callable[[_Pair], Check]] = {
    "temperature 0 gives plain decoding's tokens": _greedy,
    "shared noise gives plain decoding's tokens": _shared_noise,
    "the law of the output, all paths summed": _exact_law,
    "the law of the output, sampled": _sampled_law,
}
