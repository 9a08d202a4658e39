"""Every family through the whole decoder: greedy text is plain text (H8)."""

from __future__ import annotations

import dataclasses
import functools

import pytest
import torch
from tiny_models import CONFIGS, VOCABULARY, reference_logits, tiny

from core.config import DecodingConfig
from core.drafters.draft_model import DraftModel
from core.runtime.models import wrap_model
from tests.core.tables import CertainDrafter, run

PROMPT = torch.randint(
    3, VOCABULARY, (40,), generator=torch.Generator().manual_seed(2)
).tolist()
NEW = 80
GREEDY = DecodingConfig(lookahead=5, max_new_tokens=NEW)
# Random weights love to repeat themselves, which would hide a stale cache.
SETTINGS = dataclasses.replace(GREEDY, no_repeat_ngram=2)
SLIDING = ("mistral", "gemma2", "gemma3")


@functools.cache
def modules(family: str):
    """Return a target and a worse draft of the same family."""
    return tiny(family), tiny(family, seed=1)


@functools.cache
def models(family: str):
    return tuple(
        wrap_model(
            module,
            name=family,
            reference=family,
            vocabulary_size=VOCABULARY,
            device="cpu",
            dtype="float32",
        )
        for module in modules(family)
    )


@functools.cache
def plain(
    family: str, length: int, settings: DecodingConfig = SETTINGS
) -> tuple[int, ...]:
    return run(models(family)[0], None, settings, prompt=PROMPT[:length]).tokens


def often_right(family: str, length: int):
    """Return a drafter that is refused at every place of a block in turn."""
    text = plain(family, length)

    def guess(prefix):
        place = len(prefix) - length
        right = text[place] if place < NEW else 0
        return (right + 1) % VOCABULARY if place * place % 7 in (0, 2) else right

    return lambda capacity: CertainDrafter(guess, VOCABULARY)


def check(family: str, length: int):
    target, draft = models(family)
    drafters = {
        "worse model": lambda capacity: DraftModel(draft, capacity),
        "always wrong": lambda capacity: CertainDrafter(
            lambda prefix: sum(prefix) % VOCABULARY, VOCABULARY
        ),
        "often right": often_right(family, length),
    }
    for name, new_drafter in drafters.items():
        fast = run(target, new_drafter, SETTINGS, prompt=PROMPT[:length])
        assert fast.tokens == plain(family, length), name
        assert fast.counts.resampled >= 5, name  # there was something to roll back
    assert len(set(plain(family, length))) >= 10


@pytest.mark.slow
@pytest.mark.parametrize("length", [4, 15, 16, 17, 40])
@pytest.mark.parametrize("family", SLIDING)
def test_a_text_that_passes_its_window_survives_rollbacks(family, length):
    """H8: a window of 16 tokens, prompts around it, 80 new tokens."""
    check(family, length)


@pytest.mark.slow
@pytest.mark.parametrize("family", sorted(set(CONFIGS) - set(SLIDING)))
def test_every_family_gives_plain_decodings_tokens(family):
    """DESIGN.md 1: whatever drafts, the text is the target's."""
    check(family, 17)


@pytest.mark.slow
@pytest.mark.parametrize("family", CONFIGS)
def test_plain_text_is_what_transformers_would_choose(family):
    """Held against one full pass without any cache: no chosen token lies below."""
    text = plain(family, 17, GREEDY)
    logits = reference_logits(modules(family)[0], [*PROMPT[:17], *text])[16:-1]
    chosen = logits.gather(1, torch.tensor(text)[:, None])[:, 0]
    assert (logits.max(-1).values - chosen).max() < 1e-3
