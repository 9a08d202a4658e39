"""Which ids end a text, and which are not text at all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def eos_ids_of(model: Any, tokenizer: Any, vocabulary_size: int) -> tuple[int, ...]:
    """Return every id that ends a text, sorted.

    Chat models often name one in the tokenizer and others in the generation config; all
    of them end a text.
    """
    text_config = model.config.get_text_config(decoder=True)
    sources = (
        getattr(model.generation_config, "eos_token_id", None),
        getattr(model.config, "eos_token_id", None),
        getattr(text_config, "eos_token_id", None),
        tokenizer.eos_token_id,
    )
    ids = {i for source in sources for i in _as_ids(source)}
    return tuple(sorted(i for i in ids if 0 <= i < vocabulary_size))


def special_ids_of(tokenizer: Any) -> frozenset[int]:
    """Return the ids of control tokens, also those that play no named part."""
    added = tokenizer.added_tokens_decoder
    special = (i for i, token in added.items() if token.special)
    return frozenset(special) | frozenset(tokenizer.all_special_ids)


def _as_ids(source: Any) -> Iterable[int]:
    if source is None:
        return ()
    found = source if isinstance(source, list | tuple) else (source,)
    return (int(i) for i in found if i is not None)
