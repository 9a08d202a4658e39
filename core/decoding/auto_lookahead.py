"""K chosen round by round: the one that the cost model expects most tokens a second of.

Why the output keeps the target's law. Given what was committed, a round's tokens have
that law at any K, so K may be any function of the past, as long as that past says
nothing about the draws still to come. Random numbers belong to positions: a proposal
that was *discarded* was drawn with the very noise that its position will be drafted
with again, so a K that looked at it would choose with knowledge of the next draws.
Therefore only places that were judged are looked at: their positions are committed, and
their numbers never come again. Nor is a clock: costs are those that were recorded when
the pair was loaded, and a run can be repeated to the last K.
"""

from __future__ import annotations

import math
from collections.abc import Hashable

from core.config import MAX_LOOKAHEAD, DecodingConfig
from core.events import StepCosts
from core.lab.cost_model import (
    Acceptance,
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
PROBE_SHARE = 0.02  # of the run's time that probes may cost
ADVANCE = 128  # rounds of which that share may be spent before they are played
NEVER = 1 << 30
STEADY = 32  # rounds with proposals after which a failure is forgotten


class AutoLookahead:
    """Follows one lane's rounds and chooses the next K.

    It starts from the configured K. When no K is expected to win it rests at K = 0 and
    probes with K = 1 now and then; an accepted probe lets it start afresh, a refused
    one doubles the rest.

    Args:
        costs: of the pair's steps, as recorded.
    """

    def __init__(self, costs: StepCosts) -> None:
        self._costs = costs
        self._settings: DecodingConfig | None = None
        self._awaits = False  # a round with a K of ours is being played
        self._start(0)

    def choose(self, settings: DecodingConfig) -> int:
        """Return the next round's K; a change of settings starts it afresh."""
        if settings != self._settings:
            self._settings = settings
            self._start(settings.lookahead)
        self._awaits = True
        return self._lookahead

    def _start(self, lookahead: int) -> None:
        self._lookahead = lookahead
        self._failures = 0
        self._steady = 0
        self._resting = 0  # rounds left before the next probe
        self._probing = False
        self._rounds = 0
        self._spent_ms = 0.0  # on probes
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
        self._rounds += 1
        if self._resting:
            self._resting -= 1
            self._probing = self._resting == 0
            self._lookahead = int(self._probing)
            return
        if self._probing and tested and accepted:
            self._forget()
        self._count(drafted, tested, accepted)
        failed = self._probing and not accepted
        self._probing = False
        best = 0 if failed else self._best()
        self._lookahead = best or int(not failed and self._may_hope())
        if best:
            self._stay()
        elif not self._lookahead:
            self._rest()

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
        """Return whether chance may be why no K seems to win.

        One standard error is added to the chance at the first place. The error shrinks
        with all that was ever judged: it must not take for ever to give a draft up.
        """
        chance = self.acceptance().at(1)
        tests = PRIOR_TESTS + self._judged
        hope = min(1.0, chance + HOPE * math.sqrt(chance * (1 - chance) / tests))
        found = predict(self._costs, one_rate(hope), 1, greedy=self._greedy)
        return found.speedup > 1

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
        """Rest at K = 0, twice as long after each failure."""
        self._steady = 0
        rounds = min(FEWEST_BETWEEN << min(self._failures, 8), MOST_BETWEEN)
        self._failures += 1
        self._resting = rounds if self._pay_for(rounds) else NEVER

    def _pay_for(self, rounds: int) -> bool:
        """Pay for a probe after so many rounds, if all probes stay within their share.

        The draft has to read what it missed. Where that costs more than the share
        brings, as with large drafts on a CPU, probes come to an end.
        """
        plain = plain_ms(self._costs, greedy=self._greedy)
        probe = round_ms(self._costs, 1, greedy=self._greedy) - plain
        spent = self._spent_ms + probe + rounds * self._costs.draft_read_ms
        earned = PROBE_SHARE * plain * (self._rounds + rounds + ADVANCE)
        if spent > earned:
            return False
        self._spent_ms = spent
        return True

    @property
    def state(self) -> Hashable:
        """All that later choices depend on."""
        return (
            self._lookahead,
            self._failures,
            self._steady,
            self._resting,
            self._probing,
            self._rounds,
            self._spent_ms,
            self._prior,
            self._judged,
            *self._tested,
            *self._accepted,
            self._asked,
            self._proposed,
        )
