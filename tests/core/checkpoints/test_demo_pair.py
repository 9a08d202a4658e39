"""The real demo target and its layer-skipped draft. May fetch the target once."""

from __future__ import annotations

import pytest

from core.checkpoints import demo, layer_skipping
from core.checkpoints.inspection import inspect_checkpoint
from core.checkpoints.loading import load_model
from core.checkpoints.pairing import judge_pair
from core.config import ModelConfig

pytestmark = [pytest.mark.real_pair, pytest.mark.slow]

_TEXTS = {
    "Hello world! Café déjà vu — 123 😊": [
        *(19556, 905, 17, 48031, 2756, 32564, 90, 16739, 386, 101, 1841, 216),
        *(33, 34, 35, 40303, 228),
    ],
    " leading space": [2899, 1898],
    "\n\n": [1116],
    "1234567": [33, 34, 35, 36, 37, 38, 39],
    "x\n    1 + 23": None,  # spaces before a digit stay together
    "👩‍👩‍👧‍👦🇯🇵naïve": None,
    "<|im_start|>user\nhi<|im_end|>": [1, 4093, 198, 6004, 2],
}


@pytest.fixture(scope="module")
def target():
    demo.fetch_demo()
    return load_model(ModelConfig("demo"))


@pytest.mark.parametrize("text", _TEXTS)
def test_tokenizer_goes_round(target, text):
    """H23: texts come back whole from ids, and the ids are the known ones."""
    ids = target.tokenizer.encode(text)
    assert target.tokenizer.decode(ids) == text
    if _TEXTS[text] is not None:
        assert ids == _TEXTS[text]


def test_spaces_before_a_digit_are_cut_as_in_training(target):
    """H23: also where the file leaves the rule unsaid."""
    ids = target.tokenizer.encode("x\n    1 + 23")
    pieces = [target.tokenizer.decode([i]) for i in ids]
    assert pieces == ["x", "\n    ", "1", " +", " ", "2", "3"]


def test_facts_and_ends(target):
    assert target.eos_ids == (2,)
    assert (target.vocabulary_size, target.context_length) == (49152, 8192)
    assert target.facts.num_parameters == 134_515_008
    assert target.special_ids == frozenset(range(17))


def test_chat_template_ends_with_the_assistant_turn(target):
    turns = [{"role": "user", "content": "hi"}]
    text = target.tokenizer.apply_chat_template(
        turns, tokenize=False, add_generation_prompt=True
    )
    assert text.endswith("<|im_end|>\n<|im_start|>assistant\n")


def test_layer_skipped_draft_fits_its_target(target):
    draft = load_model(ModelConfig("demo-layers"))
    assert draft.model.facts.num_layers == len(layer_skipping.KEPT_LAYERS)
    assert judge_pair(target, draft).fits
    assert inspect_checkpoint("demo-layers").num_layers == len(
        layer_skipping.KEPT_LAYERS
    )
