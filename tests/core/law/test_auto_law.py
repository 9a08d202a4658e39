"""A K that follows from what was judged leaves plain decoding's law as it is.

The real rounds run under the exact enumerator with the real chooser, so every K that
history can lead to is among the paths. A K that looked at a *discarded* proposal would
break the law, since its noise is drawn with again; a chooser that does so is caught
here by many draws, which shows that the test can fail.
"""

from __future__ import annotations

from collections import Counter

import pytest

from core.config import DecodingConfig
from core.decoding.auto_lookahead import AutoLookahead
from core.decoding.speculative import play_round
from core.lab.enumeration import distance, output_law
from core.lab.statistics import chi_square
from core.sampling.draws import KeyedDraws
from tests.core.lab.costs import step_costs
from tests.core.tables import drafting, fixed_logits, random_logits, start, table

EXACT = 1e-12
VOCABULARY = 3


def _auto(**changes) -> DecodingConfig:
    base = {"lookahead": 2, "temperature": 1.0, "max_new_tokens": 5}
    return DecodingConfig(auto_lookahead=True, **{**base, **changes})


def _start(settings: DecodingConfig, *, drafted: bool, ratio: float = 0.25):
    target = table(random_logits(VOCABULARY, 6), VOCABULARY)
    draft = table(random_logits(VOCABULARY, 5), VOCABULARY)
    sequence = start(target, drafting(draft) if drafted else None, settings)
    sequence.auto = AutoLookahead(step_costs(ratio))
    return sequence


LONG = (pytest.mark.slow, pytest.mark.law)


@pytest.mark.parametrize(
    "settings",
    [
        _auto(temperature=0.6, top_k=2),
        pytest.param(_auto(), marks=LONG),
        pytest.param(_auto(lookahead=1), marks=LONG),
    ],
)
def test_a_lookahead_chosen_by_history_keeps_plain_decodings_law(settings):
    chosen = set()

    def note(before, played, after):
        chosen.add(len(played.proposal.ids))

    law = output_law(_start(settings, drafted=True), settings, note)
    plain = output_law(_start(settings, drafted=False), settings)
    assert distance(law, plain) < EXACT
    assert len(chosen) >= 3, "history led to several K"


def _after_refusal(seed: int, *, peeks: bool) -> int | None:
    """Return the second token where the first proposal was refused, else None.

    The draft's law is (.5, .5) and the target's (.2, .8) after every prefix.
    """
    settings = _auto(seed=seed)
    target = table(fixed_logits((0.2, 0.8)), 2)
    draft = table(fixed_logits((0.5, 0.5)), 2)
    sequence = start(target, drafting(draft), settings)
    sequence.auto = AutoLookahead(step_costs(0.05))
    draws = KeyedDraws(seed)
    first = play_round(sequence, settings, draws)
    if first.accepted:
        return None
    if peeks:
        sequence.auto._lookahead = 2 * first.proposal.ids[1]
    return play_round(sequence, settings, draws).tokens[0]


@pytest.mark.law
@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("peeks", [False, True])
def test_only_a_lookahead_that_looks_at_discarded_proposals_bends_the_law(peeks):
    """2,000 seeds, some 600 of them with a refusal; false alarm: 1 in 10,000."""
    found = Counter(_after_refusal(seed, peeks=peeks) for seed in range(2000))
    fit = chi_square([found[0], found[1]], [0.2, 0.8])
    assert (fit.p_value < 1e-4) is peeks, fit
