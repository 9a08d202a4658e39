"""Where the text must be plain decoding's, token by token (H4, H6, H12, H20)."""

from __future__ import annotations

import functools
import math
from collections import Counter

import pytest
import torch

from core.config import Coupling, DecodingConfig
from core.events import Origin
from tests.core.decoding.toys import toy
from tests.core.tables import (
    CertainDrafter,
    drafting,
    events_of,
    looking_up,
    random_logits,
    rounds_of,
    run,
    table,
)

TARGET, DRAFT = table(random_logits(12, 3), 12), table(random_logits(12, 4), 12)
DRAFTERS = {
    "model": drafting(DRAFT),
    "self": drafting(TARGET),
    "lookup": looking_up(12),
    "certain": lambda capacity: CertainDrafter(lambda p: sum(p) % 12, 12),
    "narrow": drafting(table(random_logits(9, 4), 12)),
    "wide": drafting(table(random_logits(15, 4), 12)),
}
PENALTIES = {
    "none": {},
    "repetition": {"repetition_penalty": 1.3},
    "n-gram": {"no_repeat_ngram": 3},
    "presence and frequency": {"presence_penalty": 0.8, "frequency_penalty": 0.5},
}


def _settings(**changes) -> DecodingConfig:
    return DecodingConfig(**{"lookahead": 5, "max_new_tokens": 60, **changes})


@functools.cache
def _plain(settings: DecodingConfig):
    """Return what every drafter is held against."""
    return run(TARGET, None, settings)


@pytest.mark.parametrize("temperature", [0.0, 0.7, 1.3])
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("drafter", DRAFTERS)
def test_shared_noise_and_greedy_give_plain_decodings_tokens(
    drafter, penalty, temperature
):
    """DESIGN.md 1, and H12 for the penalties."""
    for seed in (0, 5):
        settings = _settings(
            temperature=temperature,
            seed=seed,
            coupling=Coupling.SHARED_NOISE,
            **PENALTIES[penalty],
        )
        plain = _plain(settings)
        fast = run(TARGET, DRAFTERS[drafter], settings)
        assert (fast.tokens, fast.text) == (plain.tokens, plain.text)


@pytest.mark.parametrize("coupling", Coupling)
def test_the_coupling_does_not_matter_to_plain_decoding(coupling):
    settings = _settings(temperature=1.0, coupling=coupling)
    assert run(TARGET, None, settings).tokens == run(
        TARGET, None, _settings(temperature=1.0)
    ).tokens  # fmt: skip


@pytest.mark.parametrize("coupling", Coupling)
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_target_that_drafts_for_itself_is_always_accepted(coupling, temperature):
    settings = _settings(temperature=temperature, coupling=coupling, top_p=0.9)
    counts = run(TARGET, drafting(TARGET), settings).counts
    assert counts.tested == counts.accepted == counts.drafted == 50
    assert (counts.rounds, counts.bonus) == (10, 10)


# --- tiny transformers models --------------------------------------------------------


@pytest.mark.parametrize("penalty", sorted(set(PENALTIES) - {"none"}))
def test_penalties_do_not_remember_refused_proposals(penalty):
    """H12: 200 greedy tokens of a model, with a draft that is mostly refused."""
    settings = _settings(max_new_tokens=200, **PENALTIES[penalty])
    plain = run(toy(), None, settings)
    assert run(toy(), drafting(toy(seed=1)), settings).tokens == plain.tokens


def test_temperature_zero_gives_one_text_for_every_seed_and_lookahead():
    """H6 (a)."""
    plain = run(toy(), None, _settings(max_new_tokens=30)).tokens
    for lookahead in (0, 1, 4, 8):
        for seed in range(0, 20, 4):
            settings = _settings(max_new_tokens=30, lookahead=lookahead, seed=seed)
            assert run(toy(), drafting(toy(seed=1)), settings).tokens == plain


def test_a_high_temperature_is_as_random_with_a_draft_as_without():
    """H6 (b): twenty seeds give at least fifteen texts, and as much entropy."""
    entropies = []
    for new_drafter in (None, drafting(DRAFT)):
        texts = [
            run(TARGET, new_drafter, _settings(temperature=1.5, seed=s)).tokens
            for s in range(20)
        ]
        assert len(set(texts)) >= 15
        counts = Counter(token for text in texts for token in text)
        shares = [n / counts.total() for n in counts.values()]
        entropies.append(-sum(p * math.log(p) for p in shares))
    assert entropies[1] == pytest.approx(entropies[0], rel=0.05)


@pytest.mark.parametrize("change", [{"temperature": 1e-4}, {"top_k": 1}])
@pytest.mark.parametrize("new_drafter", [None, drafting(DRAFT)])
def test_a_tiny_temperature_and_top_k_of_one_are_greedy(change, new_drafter):
    """H6 (c) and (d)."""
    greedy = run(TARGET, None, _settings()).tokens
    settings = _settings(**{"temperature": 1.0, **change})
    assert run(TARGET, new_drafter, settings).tokens == greedy


@pytest.mark.parametrize("lookahead", [1, 5, 10])
@pytest.mark.parametrize("length", [1, 2, 3])
def test_the_shortest_prompts_work(length, lookahead):
    """H20: also for prompt lookup, whose n-gram is longer than the prompt."""
    prompt = (3, 4, 3)[:length]
    settings = _settings(max_new_tokens=24, lookahead=lookahead)
    plain = run(toy(), None, settings, prompt=prompt).tokens
    for new_drafter in (drafting(toy(seed=1)), looking_up(32)):
        assert run(toy(), new_drafter, settings, prompt=prompt).tokens == plain


@pytest.mark.parametrize(("target_rows", "draft_rows"), [(40, 32), (32, 40)])
def test_rows_beyond_the_tokenizer_never_come_out(target_rows, draft_rows):
    """H4: one tokenizer of 30 ids, heads padded differently."""
    target = toy(target_rows, known=30)
    draft = toy(draft_rows, seed=1, known=30)
    for temperature in (0.0, 1.0):
        settings = _settings(
            temperature=temperature, max_new_tokens=100, coupling=Coupling.SHARED_NOISE
        )
        fast = run(target, drafting(draft), settings)
        assert fast.tokens == run(target, None, settings).tokens
        assert max(fast.tokens) < 30


def test_padded_rows_that_would_win_are_masked_on_both_sides():
    """H4: the mass beyond the tokenizer is cut before temperature and top-p."""
    pad = torch.nn.functional.pad
    logits = random_logits(12, 3)
    wide = table(lambda p: pad(logits(p), (0, 4), value=30.0), 12)
    settings = _settings(temperature=1.0, top_p=0.9, coupling=Coupling.SHARED_NOISE)
    plain = run(TARGET, None, settings)
    for new_drafter in (drafting(wide), drafting(DRAFT)):
        assert run(wide, new_drafter, settings).tokens == plain.tokens
    assert run(wide, drafting(wide), settings).counts.resampled == 0


def test_origins_tell_the_lanes_apart():
    def origins(new_drafter, lookahead):
        settings = _settings(lookahead=lookahead, temperature=1.0)
        rounds = rounds_of(events_of(TARGET, new_drafter, settings))
        return {t.origin for r in rounds for t in r.tokens}

    assert origins(None, 4) == {Origin.PLAIN}
    assert origins(drafting(DRAFT), 0) == {Origin.BONUS}
    assert origins(drafting(DRAFT), 4) >= {Origin.ACCEPTED, Origin.RESAMPLED}
