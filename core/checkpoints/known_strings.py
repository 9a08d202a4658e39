"""A GGUF's tokenizer, rebuilt from its header, against texts that must come back."""

from __future__ import annotations

import unicodedata
from typing import Any

from core.checkpoints.facts import CheckpointFacts, CheckpointKind
from core.errors import UnsupportedModelError

KNOWN = (
    "Hello world! Café déjà vu — 123 😊",
    "a  b\n\n    1 + 23",
    "1234567",
    "日本語 и русский",
)


def require_round_trip(facts: CheckpointFacts, tokenizer: Any) -> None:
    """Check that the tokenizer of a GGUF file gives every known text back.

    A tokenizer may normalise and may add a space in front, but must not lose a letter:
    every text that is shown would be wrong.

    Raises:
        UnsupportedModelError: naming the first text that comes back as another one.
    """
    if facts.kind is not CheckpointKind.GGUF:
        return
    for text in KNOWN:
        ids = tokenizer.encode(text, add_special_tokens=False)
        back = tokenizer.decode(ids, clean_up_tokenization_spaces=False)
        if _plain(back) != _plain(text):
            raise UnsupportedModelError(
                f"The tokenizer of {facts.name} turns {text!r} into {back!r}; use "
                "another file of this model, or its safetensors version.",
                text=text,
                back=back,
            )


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).strip()
