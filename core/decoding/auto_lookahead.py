"""K chosen round by round: the one that the cost model expects most tokens a second of.

Why the output keeps the target's law. Given what was committed, a round's tokens have
that law at any K, so K may be any function of the past, as long as that past says
nothing about the draws still to come. Random numbers belong to positions: a proposal
that was *discarded* was drawn with the very noise that its position will be drafted
with again, so a K that looked at it would choose with knowledge of the next draws.
Therefore only places that were judged are looked at: their positions are committed, and
their numbers never come again. Nor is a clock: costs are those that were recorded when
the pair was loaded, and with the same recorded step costs a run can be repeated to the
last K.
"""

from __future__ import annotations

import math
from collections.abc import Hashable

from core.config import MAX_LOOKAHEAD, DecodingConfig
from core.events import StepCosts
from core.lab.cost_model import (
    Acceptance,
    at_context,
    fastest,
    one_rate,
    plain_ms,
    predict,
    round_ms,
)

PRIOR_RATE = 0.7  # before anything is known: what decent drafts have
PRIOR_TESTS = 4.0  # judged proposals that the prior is worth
PLACE_TESTS = 8.0  # judged proposals that the rate of all places is worth at one place
HOPE = 1.0  # standard errors that speak for a draft before it is given up
DECAY = 0.97  # a round's weight, one judged round later: the last 30 or so count
FEWEST_BETWEEN, MOST_BETWEEN = 16, 128  # rounds between two probes
CHEAP = 0.02  # share of the time below which probes need not come further apart
PROBES = 2  # rounds of a probe: what the draft missed is read once for both
LOSS_SHARE = 0.025  # of the run's time that may be lost to K = 0 on trying
ADVANCE = 96  # tokens of which that share may be lost before they are emitted
NEAR = 0.08  # a K = 1 that loses less than this share is kept while that is paid for
LONGEST = 4 * MOST_BETWEEN  # what is not paid for by then never will be
NEVER = 1 << 30
STRETCH = 64  # tokens of context that are priced alike
STEADY = 32  # rounds with proposals after which a failure is forgotten


class AutoLookahead:
    """Follows one lane's rounds and chooses the next K.

    It starts from the configured K, or less where so many proposals could not win even
    if all were accepted. When no K is expected to win it rests at K = 0 and
    probes with K = 1 now and then; an accepted probe lets it start afresh, a refused
    one makes the next rest longer where probes are dear. All that trying may lose to
    plain decoding comes out of one account, which the run's own tokens fill.

    Args:
        costs: of the pair's steps, as recorded.
    """

    def __init__(self, costs: StepCosts) -> None:
        self._recorded = self._costs = costs
        self._settings: DecodingConfig | None = None
        self._awaits = False  # a round with a K of ours is being played
        self._start(0)

    def choose(self, settings: DecodingConfig, context: int = 0) -> int:
        """Return the next round's K; a change of settings starts it afresh.

        Args:
            settings: of the round.
            context: tokens so far, prompt included; steps cost more as they grow.
        """
        self._costs = at_context(self._recorded, context // STRETCH * STRETCH)
        if settings != self._settings:
            self._settings = settings
            self._start(min(settings.lookahead, self._most()))
        self._awaits = True
        return self._lookahead

    def _most(self) -> int:
        """Return the K that would be chosen if every proposal were accepted."""
        perfect = Acceptance((1.0,) * MAX_LOOKAHEAD, 1.0)
        return fastest(self._costs, perfect, greedy=self._greedy)

    def _start(self, lookahead: int) -> None:
        self._lookahead = lookahead
        self._failures = 0
        self._steady = 0
        self._resting = 0  # rounds left before the next probe
        self._probes = 0  # rounds left of a probe
        self._missed = 0  # tokens that the draft has not read
        self._emitted = 0
        self._lost_ms = 0.0  # to K = 0, since it was last ahead of it
        self._forget()

    def _forget(self) -> None:
        self._tested = [0.0] * MAX_LOOKAHEAD
        self._accepted = [0.0] * MAX_LOOKAHEAD
        self._prior = PRIOR_TESTS
        self._judged = 0  # since then, without fading
        self._asked = self._proposed = 0.0

    def observe(self, drafted: int, tested: int, accepted: int) -> None:
        """Learn from the round for which a K was chosen; other rounds are passed over.

        Args:
            drafted: how many tokens were proposed.
            tested: how many of them were judged.
            accepted: how many of those were accepted.
        """
        if not self._awaits:
            return
        self._awaits = False
        self._account(drafted, tested, accepted)
        if self._resting:
            self._resting -= 1
            if self._resting == 0:
                self._probes, self._lookahead = PROBES, 1
            return
        if self._probes and accepted:
            self._probes = 0
            self._forget()
        self._count(drafted, tested, accepted)
        if self._probes:
            self._probes -= 1
            if self._probes == 0:
                self._rest()
            return
        best = self._best()
        self._lookahead = best or int(self._may_hope())
        if best:
            self._stay()
        elif not self._lookahead:
            self._rest()

    def _account(self, drafted: int, tested: int, accepted: int) -> None:
        """Add what the round lost to as many tokens of K = 0."""
        cost = round_ms(self._costs, drafted, greedy=self._greedy, judged=tested)
        if drafted:
            cost += self._missed * self._costs.draft_read_ms
        self._missed = 0 if drafted else self._missed + 1
        self._emitted += accepted + 1
        loss = cost - (accepted + 1) * self._plain_ms
        self._lost_ms = max(0.0, self._lost_ms + loss)

    def _count(self, drafted: int, tested: int, accepted: int) -> None:
        """Let the past fade and add one round."""
        if self._lookahead:
            self._asked = DECAY * self._asked + 1
            self._proposed = DECAY * self._proposed + (drafted > 0)
        if not tested:
            return
        self._prior *= DECAY
        self._judged += tested
        for place in range(MAX_LOOKAHEAD):
            self._tested[place] *= DECAY
            self._accepted[place] *= DECAY
            self._tested[place] += place < tested
            self._accepted[place] += place < accepted

    def _best(self) -> int:
        return fastest(self._costs, self.acceptance(), greedy=self._greedy)

    def _may_hope(self) -> bool:
        """Return whether K = 1 is worth another round although no K seems to win.

        Either chance may be why: one standard error is added to the chance at the first
        place. The error shrinks with all that was ever judged: it must not take for
        ever to give a draft up. Or it loses so little that staying costs less than to
        come back, for then the draft has to read what it missed.
        """
        chance = self.acceptance().at(1)
        tests = PRIOR_TESTS + self._judged
        hope = min(1.0, chance + HOPE * math.sqrt(chance * (1 - chance) / tests))
        found = predict(self._costs, one_rate(hope), 1, greedy=self._greedy)
        return found.speedup > 1 or self._is_near(chance)

    def _is_near(self, chance: float) -> bool:
        found = predict(self._costs, one_rate(chance), 1, greedy=self._greedy)
        loss = found.round_ms - found.tokens * self._plain_ms
        paid_for = self._lost_ms + loss < self._allowance(0)
        return paid_for and loss < NEAR * self._plain_ms

    def _allowance(self, rounds: int) -> float:
        """Return the milliseconds that may be lost until so many rounds from now."""
        tokens = self._emitted + rounds + ADVANCE
        return LOSS_SHARE * self._plain_ms * tokens

    @property
    def _plain_ms(self) -> float:
        return plain_ms(self._costs, greedy=self._greedy)

    @property
    def _greedy(self) -> bool:
        return self._settings is not None and self._settings.temperature == 0

    def _rate(self) -> float:
        """Return accepted over tested at all places, the prior included."""
        tests = self._prior + sum(self._tested)
        return (PRIOR_RATE * self._prior + sum(self._accepted)) / tests

    def acceptance(self) -> Acceptance:
        """Return what is expected of the next proposals.

        A place that was seldom judged is taken for like the others.
        """
        rate = self._rate()
        reached, chance = [], 1.0
        for tested, accepted in zip(self._tested, self._accepted, strict=True):
            chance *= (PLACE_TESTS * rate + accepted) / (PLACE_TESTS + tested)
            reached.append(chance)
        proposed = (1 + self._proposed) / (1 + self._asked)
        return Acceptance(tuple(reached), rate, proposed)

    def _stay(self) -> None:
        self._steady += 1
        if self._steady == STEADY:
            self._failures = 0

    def _rest(self) -> None:
        """Rest at K = 0: twice as long after each failure, where probes are not cheap.

        The draft has to read what it missed. Where that costs more than the account
        gets, as with large drafts on a CPU, probes come to an end.
        """
        rounds = FEWEST_BETWEEN
        for _ in range(min(self._failures, 8)):
            dear = self._probe_ms(rounds) > CHEAP * rounds * self._plain_ms
            rounds = min(2 * rounds, MOST_BETWEEN) if dear else rounds
        while not self._pays(rounds) and rounds < LONGEST:
            rounds += FEWEST_BETWEEN
        self._failures += 1
        self._lookahead = self._steady = 0
        self._resting = rounds if self._pays(rounds) else NEVER

    def _pays(self, rounds: int) -> bool:
        """Return whether a probe after so many rounds is within what may be lost."""
        return self._lost_ms + self._probe_ms(rounds) <= self._allowance(rounds)

    def _probe_ms(self, rounds: int) -> float:
        """Return what a probe after so many rounds costs if nothing is accepted."""
        one = round_ms(self._costs, 1, greedy=self._greedy) - self._plain_ms
        return PROBES * one + rounds * self._costs.draft_read_ms

    @property
    def state(self) -> Hashable:
        """All that later choices depend on."""
        return (
            self._lookahead,
            self._failures,
            self._steady,
            self._resting,
            self._probes,
            self._missed,
            self._emitted,
            self._lost_ms,
            self._prior,
            self._judged,
            *self._tested,
            *self._accepted,
            self._asked,
            self._proposed,
        )
