"""The ids that both models read: one beginning of text, whatever writes it."""

from __future__ import annotations

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from core.config import DecodingRequest
from core.decoding.prompting import encode_prompt
from core.errors import PromptError

BOS, EOS = 0, 1
WORDS = ("<s>", "</s>", "user", "system", "hello", "brief", "?")
TEMPLATE = (
    "{{ bos_token }}{% for m in messages %} {{ m['role'] }} {{ m['content'] }} </s>"
    "{% endfor %}"
)
STRICT = (
    "{% if messages[0]['role'] == 'system' %}"
    "{{ raise_exception('no system turn') }}{% endif %}user"
)


@pytest.fixture
def tokenizer() -> PreTrainedTokenizerFast:
    """A tokenizer that adds its beginning of text by itself, as Llama's does."""
    vocab = {word: i for i, word in enumerate(WORDS)}
    backend = Tokenizer(models.WordLevel(vocab, unk_token="?"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", BOS)]
    )
    made = PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token="<s>", eos_token="</s>", unk_token="?"
    )
    made.chat_template = TEMPLATE
    return made


def _ids(tokenizer, **how) -> list[str]:
    request = DecodingRequest("r", "hello", **how)
    return [WORDS[i] for i in encode_prompt(tokenizer, request)]


def test_the_template_writes_the_beginning_and_nobody_doubles_it(tokenizer):
    assert _ids(tokenizer) == ["<s>", "user", "hello", "</s>"]


def test_without_the_template_the_tokenizer_writes_it(tokenizer):
    assert _ids(tokenizer, use_chat_template=False) == ["<s>", "hello"]
    tokenizer.chat_template = None
    assert _ids(tokenizer) == ["<s>", "hello"]


def test_a_system_turn_stands_before_the_prompt(tokenizer):
    found = _ids(tokenizer, system="brief")
    assert found == ["<s>", "system", "brief", "</s>", "user", "hello", "</s>"]


def test_a_template_that_refuses_is_one_sentence(tokenizer):
    tokenizer.chat_template = STRICT
    with pytest.raises(PromptError, match=r"no system turn.*switch it off"):
        _ids(tokenizer, system="brief")
