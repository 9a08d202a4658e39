"""Counts of known laws (H1, H13), by the exact enumerator where there is chance."""

from __future__ import annotations

import pytest
import torch

from core.config import DecodingConfig
from core.decoding.records import count_round
from core.events import Counts, Verdict
from core.lab.enumeration import output_law, round_outcomes
from tests.core.tables import (
    CertainDrafter,
    drafting,
    events_of,
    fixed_logits,
    random_logits,
    rounds_of,
    run,
    start,
    table,
)

TARGET, DRAFT = table(fixed_logits([0.6, 0.4]), 2), table(fixed_logits([0.8, 0.2]), 2)


def _settings(**changes) -> DecodingConfig:
    return DecodingConfig(**{"lookahead": 4, "temperature": 1.0, **changes})


@torch.inference_mode()
def _expected(target, new_drafter, settings) -> dict[str, float]:
    """Return the mean counts of the first round of a long run."""
    sequence = start(target, new_drafter, settings)
    means = dict.fromkeys(Counts.__slots__, 0.0)
    for _, played, weight in round_outcomes(sequence, settings):
        counts = count_round(played)
        for name in means:
            means[name] += weight * getattr(counts, name)
    return means


def test_a_draft_without_overlap_is_refused_in_every_round():
    """H13: ANTI."""
    target, draft = (table(fixed_logits(p), 4) for p in ([1, 0, 0, 0], [0, 0, 0, 1]))
    summary = run(target, drafting(draft), _settings(max_new_tokens=104))
    assert summary.tokens == (0,) * 104
    assert summary.counts == Counts(
        rounds=104,
        drafted=100 * 4 + 3 + 2 + 1 + 0,  # the last rounds have less room
        tested=103,
        accepted=0,
        resampled=103,
        bonus=1,
        emitted=104,
    )


def test_the_target_as_its_own_draft_is_accepted_in_every_round():
    """H13: SELF."""
    target = table(random_logits(6, 1), 6)
    counts = run(target, drafting(target), _settings(max_new_tokens=100)).counts
    assert counts == Counts(
        rounds=20, drafted=80, tested=80, accepted=80, resampled=0, bonus=20,
        emitted=100,
    )  # fmt: skip


def test_a_known_pair_has_the_known_ratios():
    """H13: acceptance 0.8, 3.36 tokens a round, 0.59 of the proposals used."""
    means = _expected(TARGET, drafting(DRAFT), _settings())
    assert means["accepted"] / means["tested"] == pytest.approx(0.8)
    assert means["emitted"] == pytest.approx((1 - 0.8**5) / 0.2)
    assert means["accepted"] / means["drafted"] == pytest.approx(2.3616 / 4)
    assert means["tested"] == pytest.approx(means["accepted"] + means["resampled"])
    assert means["emitted"] == pytest.approx(means["accepted"] + 1)


@pytest.mark.parametrize("lookahead", [1, 4])
def test_a_sampled_draft_leaves_the_targets_law(lookahead):
    """H1: the first three tokens have the product law."""
    settings = _settings(lookahead=lookahead, max_new_tokens=3)
    law = output_law(start(TARGET, drafting(DRAFT), settings), settings)
    for outcome, weight in law.items():
        ones = sum(outcome.tokens)
        assert weight == pytest.approx(0.6 ** (3 - ones) * 0.4**ones, abs=1e-12)


@pytest.mark.parametrize("lookahead", [1, 4])
def test_a_greedy_drafter_is_certain_not_soft(lookahead):
    """H1: the share stays 0.6 and the acceptance becomes 0.6."""
    certain = lambda capacity: CertainDrafter(lambda p: 0, 2)  # noqa: E731
    settings = _settings(lookahead=lookahead)
    means = _expected(TARGET, certain, settings)
    assert means["accepted"] / means["tested"] == pytest.approx(0.6)
    short = _settings(lookahead=lookahead, max_new_tokens=2)
    law = output_law(start(TARGET, certain, short), short)
    first = sum(w for outcome, w in law.items() if outcome.tokens[0] == 0)
    assert first == pytest.approx(0.6, abs=1e-12)


def test_places_say_what_became_of_each_proposal():
    """H13: what stands behind a refusal was never tested."""
    target, draft = table(random_logits(6, 1), 6), table(random_logits(6, 2), 6)
    for event in rounds_of(events_of(target, drafting(draft), _settings())):
        verdicts = [p.verdict for p in event.places]
        accepted, refused = event.counts.accepted, event.counts.resampled
        assert verdicts[:accepted] == [Verdict.ACCEPTED] * accepted
        assert verdicts[accepted : accepted + refused] == [Verdict.REFUSED] * refused
        assert set(verdicts[accepted + refused :]) <= {Verdict.DISCARDED}
        judged = [p for p in event.places if p.verdict is not Verdict.DISCARDED]
        for place in judged:
            ratio = place.target_probability / place.draft_probability
            assert place.acceptance_probability == pytest.approx(min(1, ratio))
            below = place.uniform * place.draft_probability < place.target_probability
            assert below == (place.verdict is Verdict.ACCEPTED)


def test_a_drafter_hears_how_many_of_its_proposals_were_accepted():
    target = table(random_logits(6, 1), 6)
    made = []

    def new_drafter(capacity):
        made.append(CertainDrafter(lambda p: sum(p) % 6, 6))
        return made[-1]

    rounds = rounds_of(events_of(target, new_drafter, _settings()))
    assert made[0].observed == [r.counts.accepted for r in rounds]
