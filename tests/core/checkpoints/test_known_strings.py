"""A GGUF's tokenizer must give known texts back (H23)."""

from __future__ import annotations

import dataclasses

import pytest
from tiny_checkpoints import byte_tokens, check_sentence, make_tokenizer

from core.checkpoints.facts import CheckpointFacts, CheckpointKind
from core.checkpoints.known_strings import require_round_trip
from core.errors import UnsupportedModelError

FACTS = CheckpointFacts(CheckpointKind.GGUF, "tiny.gguf", "tiny")


def test_a_byte_level_tokenizer_gives_every_text_back(tmp_path):
    require_round_trip(FACTS, make_tokenizer(tmp_path))


@pytest.mark.parametrize(("lost", "text"), [("Ã", "Café"), ("Ċ", "1 + 23")])
def test_a_tokenizer_that_loses_a_byte_is_refused_with_the_text(tmp_path, lost, text):
    kept = [token for token in byte_tokens() if token != lost]
    tokenizer = make_tokenizer(tmp_path, {token: i for i, token in enumerate(kept)})
    with pytest.raises(UnsupportedModelError) as caught:
        require_round_trip(FACTS, tokenizer)
    check_sentence(caught.value, "tiny", text, "safetensors")
    folder = dataclasses.replace(FACTS, kind=CheckpointKind.FOLDER)
    require_round_trip(folder, tokenizer)  # a folder brings its own tokenizer file
