"""The counts of a run and every ratio that has a name (DESIGN.md, section 1).

A ratio without anything under it is None: a dash on screen, null in a file. The law of
tokens per round takes one acceptance rate for every place, which is Leviathan et al.'s
simplification (arXiv:2211.17192, equation 1); the picture beside it shows how well it
holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from core.config import DecodingConfig
from core.events import (
    Counts,
    Event,
    Lane,
    RoundFinished,
    RunStarted,
    SettingsChanged,
    Verdict,
)

BISECTION_STEPS = 60  # halves the interval below the resolution of a float


def ratio(above: float, below: float) -> float | None:
    """Return ``above / below``, or None where nothing is under it."""
    return above / below if below else None


def acceptance_rate(counts: Counts) -> float | None:
    """Return accepted over tested: how often a judged proposal was kept."""
    return ratio(counts.accepted, counts.tested)


def draft_efficiency(counts: Counts) -> float | None:
    """Return accepted over drafted: how much of the draft's work was of use."""
    return ratio(counts.accepted, counts.drafted)


def tokens_per_round(counts: Counts) -> float | None:
    """Return emitted over rounds: how many tokens one target pass brought."""
    return ratio(counts.emitted, counts.rounds)


def papers_acceptance(counts: Counts) -> float | None:
    """Return emitted over (drafted + rounds), Figure 1's rate of arXiv:2302.01318.

    It counts the resampled or bonus token, so it is 1 where K is 0.
    """
    return ratio(counts.emitted, counts.drafted + counts.rounds)


def is_consistent(counts: Counts) -> bool:
    """Return whether the counts of one run obey the identities that always hold."""
    last_draws = counts.resampled + counts.bonus
    return (
        counts.tested == counts.accepted + counts.resampled
        and counts.emitted == counts.accepted + last_draws
        and counts.rounds - last_draws in (0, 1)  # 1: the end fell inside a block
        and counts.tested <= counts.drafted
    )


def round_law(acceptance: float, lookahead: int) -> dict[int, float]:
    """Return the law of the tokens of one round.

    Args:
        acceptance: probability that a judged proposal is kept, 0 to 1.
        lookahead: the round's own K.

    Returns:
        Probability by number of tokens, 1 to K + 1; sums to 1.
    """
    law = {j: (1 - acceptance) * acceptance ** (j - 1) for j in range(1, lookahead + 1)}
    law[lookahead + 1] = acceptance**lookahead
    return law


def tokens_per_round_law(
    acceptance: float, lookaheads: Mapping[int, int] | Iterable[int]
) -> dict[int, float]:
    """Return the expected number of rounds by tokens, over the rounds' own K.

    Args:
        acceptance: probability that a judged proposal is kept, 0 to 1.
        lookaheads: the K of each round, or how many rounds had each K.
    """
    law: dict[int, float] = {}
    for lookahead, rounds in sorted(Counter(lookaheads).items()):
        for tokens, share in round_law(acceptance, lookahead).items():
            law[tokens] = law.get(tokens, 0.0) + rounds * share
    return dict(sorted(law.items()))


def expected_tokens(acceptance: float, lookahead: int) -> float:
    """Return (1 - a^(K+1)) / (1 - a), the mean tokens of a round; K + 1 at a = 1."""
    return sum(acceptance**i for i in range(lookahead + 1))


def predicted_speedup(
    acceptance: float,
    lookahead: int,
    draft_ms_per_round: float,
    verify_ms: float,
    plain_ms: float,
) -> float | None:
    """Return how many times faster than plain decoding the costs promise.

    Args:
        acceptance: probability that a judged proposal is kept, 0 to 1.
        lookahead: K.
        draft_ms_per_round: proposing K tokens.
        verify_ms: the rest of a round: the target's pass, judging, bookkeeping.
        plain_ms: one token of plain decoding of the same target.
    """
    round_ms = draft_ms_per_round + verify_ms
    return ratio(expected_tokens(acceptance, lookahead) * plain_ms, round_ms)


def break_even_acceptance(
    lookahead: int, draft_ms_per_round: float, verify_ms: float, plain_ms: float
) -> float | None:
    """Return the acceptance rate at which a round costs what its tokens cost plainly.

    Solves expected_tokens(a, K) = round cost / plain cost for a. The arguments are
    those of :func:`predicted_speedup`.

    Returns:
        0 where speculating is no dearer at any rate; None where no rate below 1 is
        enough, or the plain cost is not known.
    """
    cost = ratio(draft_ms_per_round + verify_ms, plain_ms)
    if cost is None:
        return None
    if cost <= 1:
        return 0.0
    return None if cost >= lookahead + 1 else _solve(cost, lookahead)


def _solve(cost: float, lookahead: int) -> float:
    low, high = 0.0, 1.0
    for _ in range(BISECTION_STEPS):
        middle = (low + high) / 2
        if expected_tokens(middle, lookahead) < cost:
            low = middle
        else:
            high = middle
    return high


class RunStatistics:
    """Adds up the events of one lane; other lanes' events pass through unseen.

    A run that starts in the lane begins from nothing, so that each repeat of a race
    stands for itself.

    Attributes:
        lane: the lane that is counted.
        counts: of the whole run.
        since_change: since the settings last changed.
        mixed_settings: settings changed after the first round.
    """

    def __init__(self, lane: Lane = Lane.SPECULATIVE) -> None:
        self.lane = lane
        self._reset(None)

    def on_event(self, event: Event) -> None:
        """Take in one event."""
        match event:
            case RunStarted(lane=self.lane):
                self._reset(event.settings)
            case SettingsChanged(lane=self.lane):
                self._hold(event.after)
            case RoundFinished(lane=self.lane):
                self._hold(event.settings)
                self._add(event)
            case _:
                pass

    def _reset(self, settings: DecodingConfig | None) -> None:
        self.counts = Counts()
        self.mixed_settings = False
        self._settings = settings
        self._forget()

    def _hold(self, settings: DecodingConfig) -> None:
        if settings != self._settings:
            self.mixed_settings |= self.counts.rounds > 0
            self._settings = settings
            self._forget()

    def _forget(self) -> None:
        self.since_change = Counts()
        self._lookaheads: Counter[int] = Counter()
        self._tokens: Counter[int] = Counter()
        self._accepted_at: Counter[int] = Counter()
        self._asked = 0  # rounds that were allowed to propose

    def _add(self, event: RoundFinished) -> None:
        self.counts += event.counts
        self.since_change += event.counts
        chosen = event.auto_lookahead
        self._asked += bool(event.settings.lookahead if chosen is None else chosen)
        self._lookaheads[event.lookahead] += 1
        self._tokens[len(event.tokens)] += 1
        for place in event.places:
            self._accepted_at[place.index] += place.verdict is Verdict.ACCEPTED

    @property
    def acceptance_rate(self) -> float | None:
        """Accepted over tested since the settings last changed."""
        return acceptance_rate(self.since_change)

    @property
    def proposed(self) -> float | None:
        """Rounds that proposed anything over those that were allowed to.

        Since the settings last changed; prompt lookup often finds nothing.
        """
        proposing = self.since_change.rounds - self._lookaheads[0]
        return ratio(proposing, self._asked)

    @property
    def deepest_place(self) -> int:
        """The most proposals that a round has had since the settings last changed."""
        return max(self._lookaheads, default=0)

    def acceptance_by_place(self) -> tuple[float | None, ...]:
        """Return, for each place, accepted there over rounds that drafted it.

        Since the settings last changed; element 0 is place 1. A place that no round
        reached with a judgement counts as not accepted, so the values fall.
        """
        places = range(1, self.deepest_place + 1)
        return tuple(ratio(self._accepted_at[i], self._drafting(i)) for i in places)

    def _drafting(self, place: int) -> int:
        return sum(n for k, n in self._lookaheads.items() if k >= place)

    def tokens_per_round_histogram(self) -> dict[int, int]:
        """Return how many rounds brought how many tokens, since the last change."""
        return dict(sorted(self._tokens.items()))

    def tokens_per_round_law(self) -> dict[int, float]:
        """Return how many rounds should have, by the law at the measured rate.

        Empty where proposals were made and none was judged.
        """
        rate = self.acceptance_rate
        if rate is None and self.since_change.drafted:
            return {}
        return tokens_per_round_law(rate or 0.0, self._lookaheads)
