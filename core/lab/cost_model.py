"""What a K should bring, from what steps cost and how often places are accepted.

Expected tokens of a round of K proposals: 1 + the sum over its places of the chance
that a place is reached and accepted; with one rate a for every place that is
(1 - a^(K+1)) / (1 - a), equation 1 of Leviathan et al. (arXiv:2211.17192). Its price:
K steps of the draft, one of the target over K + 1 rows, and the round's own work: some
in every round, some once where anything is proposed, some for each proposal.

Standard library only: the window draws these numbers, an automatic K is chosen by them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import median

from core import metrics
from core.config import MAX_LOOKAHEAD
from core.events import RoundOverhead, StepCosts

LOOKAHEADS = range(MAX_LOOKAHEAD + 1)


@dataclass(frozen=True, slots=True)
class Prediction:
    """What one K should bring.

    Attributes:
        lookahead: K.
        tokens: expected of a round, 1 to K + 1.
        round_ms: a round.
        ms_per_token: a token.
        speedup: over K = 0 at the same costs.
    """

    lookahead: int
    tokens: float
    round_ms: float
    ms_per_token: float
    speedup: float


@dataclass(frozen=True, slots=True)
class Acceptance:
    """How proposals fare.

    Attributes:
        reached: for each place, from 1, the chance that it and all before it are
            accepted in a round that proposes it; falls from place to place.
        rate: chance that a proposal at a later place is accepted once it is judged.
        proposed: share of the rounds in which the drafter proposes anything; below 1
            for prompt lookup, which often finds nothing.
    """

    reached: tuple[float, ...]
    rate: float
    proposed: float = 1.0

    def at(self, place: int) -> float:
        """Return the chance that all places up to ``place`` are accepted."""
        known = len(self.reached)
        if place <= known:
            return self.reached[place - 1]
        last = self.reached[-1] if known else 1.0
        return last * self.rate ** (place - known)


def one_rate(rate: float) -> Acceptance:
    """Return the acceptance of Leviathan's single rate at every place, 0 to 1."""
    return Acceptance((), rate)


def by_place(
    shares: Sequence[float | None], rate: float | None, proposed: float = 1.0
) -> Acceptance | None:
    """Return the acceptance that a run had.

    Args:
        shares: accepted at a place over rounds that drafted it
            (``RunStatistics.acceptance_by_place``).
        rate: accepted over tested; stands for the places that nobody drafted.
        proposed: share of the rounds with any proposal.

    Returns:
        None where nothing was tested.
    """
    if rate is None:
        return None
    known: list[float] = []
    for share in shares:
        if share is None:
            break
        # Late places are seldom drafted and noisy, but a chance to reach them falls.
        known.append(min([share, *known[-1:]]))
    return Acceptance(tuple(known), rate, proposed)


def at_context(costs: StepCosts, context: float) -> StepCosts:
    """Return the costs with so many tokens in the caches.

    Every row of a step attends to all of them, so wide steps grow the most. Fewer than
    the steps were timed with make no difference.

    Args:
        costs: of the pair.
        context: tokens, prompt included.
    """
    further = max(0.0, context - costs.context)
    target, draft = further * costs.target_token_ms, further * costs.draft_token_ms
    if not (target or draft):
        return costs
    return replace(
        costs,
        target_ms=tuple(
            ms + rows * target
            for rows, ms in zip(costs.rows, costs.target_ms, strict=True)
        ),
        draft_ms=costs.draft_ms + draft,
        draft_two_rows_ms=costs.draft_two_rows_ms + 2 * draft,
        draft_read_ms=costs.draft_read_ms + draft,
    )


def typical(several: Sequence[StepCosts]) -> StepCosts:
    """Return a pair's costs with the medians of its steps' times, the rest as last.

    Args:
        several: at least one, all with the same widths.
    """
    target = zip(*(costs.target_ms for costs in several), strict=True)
    return replace(
        several[-1],
        target_ms=tuple(median(times) for times in target),
        draft_ms=median(costs.draft_ms for costs in several),
    )


def overhead(costs: StepCosts, *, greedy: bool) -> RoundOverhead:
    """Return what a round costs beside its steps."""
    return costs.greedy if greedy else costs.sampled


def target_ms(costs: StepCosts, rows: int) -> float:
    """Return a target step over ``rows`` rows, on the line between measured widths."""
    widths, times = costs.rows, costs.target_ms
    if len(widths) == 1 or rows <= widths[0]:
        return times[0]
    right = min(bisect_left(widths, rows), len(widths) - 1)
    share = (rows - widths[right - 1]) / (widths[right] - widths[right - 1])
    return times[right - 1] + share * (times[right] - times[right - 1])


def plain_ms(costs: StepCosts, *, greedy: bool) -> float:
    """Return a round without proposals: one token of plain decoding."""
    return target_ms(costs, 1) + overhead(costs, greedy=greedy).round_ms


def round_ms(
    costs: StepCosts, lookahead: int, *, greedy: bool, judged: float = 1.0
) -> float:
    """Return a round of K proposals in milliseconds.

    After a full acceptance the draft has not seen its own last proposal, and its next
    step takes two rows; that is not in it.

    Args:
        costs: of the pair.
        lookahead: K.
        greedy: the temperature is 0.
        judged: how many of the proposals are; all but the first are only where the
            ones before them were accepted.
    """
    if lookahead == 0:
        return plain_ms(costs, greedy=greedy)
    work, verify_ms = overhead(costs, greedy=greedy), target_ms(costs, lookahead + 1)
    found = (
        lookahead * (costs.draft_ms + work.proposal_ms)
        + verify_ms
        + work.round_ms
        + work.start_ms
        + judged * work.judged_ms
    )
    # Costs that were measured while others used the machine can add up to less.
    return max(found, verify_ms)


def predict(
    costs: StepCosts, acceptance: Acceptance, lookahead: int, *, greedy: bool
) -> Prediction:
    """Return what K should bring.

    Args:
        costs: of the pair.
        acceptance: of its proposals.
        lookahead: K, 0 to 16.
        greedy: the temperature is 0.
    """
    return curve(costs, acceptance, greedy=greedy)[lookahead]


def curve(
    costs: StepCosts, acceptance: Acceptance, *, greedy: bool
) -> tuple[Prediction, ...]:
    """Return what each K from 0 to 16 should bring."""
    reached = [acceptance.at(lookahead) for lookahead in LOOKAHEADS[1:]]
    plain = plain_ms(costs, greedy=greedy)
    found = [Prediction(0, 1.0, plain, plain, 1.0)]
    steps = _rounds(costs, reached, acceptance.proposed, greedy=greedy)
    for lookahead, (tokens, cost) in enumerate(steps, start=1):
        each = cost / tokens
        found.append(Prediction(lookahead, tokens, cost, each, plain / each))
    return tuple(found)


def fastest(costs: StepCosts, acceptance: Acceptance, *, greedy: bool) -> int:
    """Return the K of ``best(curve(...))``, without the table: it is asked each round.

    The first of equal ones wins, which is the smallest K.
    """
    found, least = 0, plain_ms(costs, greedy=greedy)
    steps = _rounds(costs, acceptance.reached, acceptance.proposed, greedy=greedy)
    for lookahead, (tokens, cost) in enumerate(steps, start=1):
        if cost / tokens < least:
            found, least = lookahead, cost / tokens
    return found


def _rounds(
    costs: StepCosts, reached: Iterable[float], share: float, *, greedy: bool
) -> Iterator[tuple[float, float]]:
    """Yield expected tokens and milliseconds of a round for each K from 1.

    Args:
        costs: of the pair.
        reached: for each place the chance that all up to it are accepted.
        share: of the rounds that propose anything; the others are plain.
        greedy: the temperature is 0.
    """
    rounds_ms, second_row, each_judged = _prices(costs, greedy)
    judged, before = 0.0, 1.0
    for lookahead, chance in enumerate(reached, start=1):
        judged += before  # a place is judged if all before it were accepted
        full = rounds_ms[lookahead] + judged * each_judged + chance * second_row
        yield (
            1 + share * (judged + chance - 1),
            share * full + (1 - share) * rounds_ms[0],
        )
        before = chance


@lru_cache(maxsize=256)  # loads and sweeps time the steps anew
def _prices(costs: StepCosts, greedy: bool) -> tuple[tuple[float, ...], float, float]:
    """Return a round by K with nothing judged, the draft's second row, and a judgement.

    The second row is what a full acceptance costs. Remembered: an automatic K asks for
    it in every round.
    """
    rounds_ms = tuple(round_ms(costs, k, greedy=greedy, judged=0.0) for k in LOOKAHEADS)
    second_row = max(0.0, costs.draft_two_rows_ms - costs.draft_ms)
    return rounds_ms, second_row, overhead(costs, greedy=greedy).judged_ms


def best(predictions: Sequence[Prediction]) -> Prediction:
    """Return the fastest; of equal ones the smallest K."""
    return min(predictions, key=lambda p: (p.ms_per_token, p.lookahead))


def break_even(costs: StepCosts, lookahead: int, *, greedy: bool) -> float | None:
    """Return the acceptance rate at which K costs what its tokens cost plainly.

    Returns:
        None at K = 0, or where no rate below 1 is enough.
    """
    if lookahead == 0:
        return None
    drafting = lookahead * costs.draft_ms
    rest = round_ms(costs, lookahead, greedy=greedy) - drafting
    return metrics.break_even_acceptance(
        lookahead, drafting, rest, plain_ms(costs, greedy=greedy)
    )


def cost_ratio(costs: StepCosts) -> float | None:
    """Return a draft step over a target step, the paper's c; None without weights."""
    return metrics.ratio(costs.draft_ms, target_ms(costs, 1)) or None
