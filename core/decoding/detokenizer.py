"""From token ids to text pieces that never show half a character."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

_BROKEN = "\ufffd"
_CONTEXT = 8  # tokens decoded again for context
_LONGEST_CONTEXT = 64  # bytes that are no text are cut anyway from here on
_LONGEST_CHARACTER = 4  # UTF-8 bytes, each of which may be a token of its own


class Detokenizer:
    """Turns committed ids into pieces whose concatenation is the decoded text.

    A character made of several tokens comes with the last of them; those before it
    bring an empty piece. Ids are decoded in context, never alone, since tokenizers mark
    spaces and bytes relative to what stands before.
    """

    def __init__(self, tokenizer: Any, prompt_ids: list[int]) -> None:
        self._decode = decoder_of(tokenizer)
        self._ids = self._context(prompt_ids)
        self._shown = _without_tail(self._decode(self._ids))
        self._waiting = 0

    def push(self, token_id: int) -> str:
        """Return the text that ``token_id`` completes; empty inside a character."""
        self._ids.append(token_id)
        text = self._decode(self._ids)
        whole = _without_tail(text)
        if self._waits(text, whole):
            self._waiting += 1
            return ""
        piece = whole[_common_length(self._shown, whole) :]
        self._shown, self._waiting = whole, 0
        if len(self._ids) > (_LONGEST_CONTEXT if whole != text else 4 * _CONTEXT):
            self._shorten()
        return piece

    def _waits(self, text: str, whole: str) -> bool:
        """Return whether text that was shown may come back with the next tokens.

        A tokenizer with byte fallback decodes neighbouring bytes as one: while the last
        character is incomplete it takes back all those before it.
        """
        taken_back = text.endswith(_BROKEN) and not whole.startswith(self._shown)
        return taken_back and self._waiting < _LONGEST_CHARACTER

    def _shorten(self) -> None:
        """Keep a short context, so that a long run costs the same per token."""
        ids = self._context(self._ids)
        if len(ids) < len(self._ids):
            self._ids, self._shown = ids, _without_tail(self._decode(ids))

    def _context(self, ids: list[int]) -> list[int]:
        """Return the end of ``ids``, long enough not to begin inside a character."""
        for size in range(_CONTEXT, min(len(ids), _LONGEST_CONTEXT)):
            if _BROKEN not in self._decode(ids[-size:]):
                return list(ids[-size:])
        return list(ids[-_LONGEST_CONTEXT:])


def decoder_of(tokenizer: Any) -> Callable[[list[int]], str]:
    """Return what turns ids into text, special tokens included and nothing tidied up.

    That of transformers first looks through the ids for arrays, which takes longer
    than decoding them; where nothing overrides it, the library under it is asked.
    """
    inside = getattr(getattr(tokenizer, "_decode", None), "__module__", "")
    if inside.startswith("transformers.tokenization_utils_t"):
        backend = tokenizer.backend_tokenizer
        return lambda ids: backend.decode(ids, skip_special_tokens=False)
    return lambda ids: tokenizer.decode(
        ids, skip_special_tokens=False, clean_up_tokenization_spaces=False
    )


def _without_tail(text: str) -> str:
    """Return ``text`` without the marks that may become a character: three at most."""
    marks = len(text) - len(text.rstrip(_BROKEN))
    return text[: len(text) - min(marks, _LONGEST_CHARACTER - 1)]


def _common_length(before: str, after: str) -> int:
    if after.startswith(before):
        return len(before)
    pairs = enumerate(zip(before, after, strict=False))
    shorter = min(len(before), len(after))
    return next((i for i, (a, b) in pairs if a != b), shorter)


_KNOWN: WeakKeyDictionary[Any, dict[int, str]] = WeakKeyDictionary()


class TokenLabels:
    """Short names of single tokens for tables and tooltips.

    They are remembered for as long as the tokenizer lives, from run to run.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer, self._decode = tokenizer, decoder_of(tokenizer)
        self._labels = _KNOWN.setdefault(tokenizer, {})

    def __call__(self, token_id: int) -> str:
        """Return the token's text, or its tokenizer name where it is no character."""
        label = self._labels.get(token_id)
        if label is None:
            label = self._labels[token_id] = self._name(token_id)
        return label

    def _name(self, token_id: int) -> str:
        text = self._decode([token_id])
        if text and _BROKEN not in text:
            return text
        token = self._tokenizer.convert_ids_to_tokens(token_id)
        return _bytes_label(token) if token else f"<{token_id}>"


def _bytes_label(token: str) -> str:
    """Write a token that is part of a character as its bytes, such as <0xF0><0x9F>."""
    if token.startswith("<0x"):
        return token
    table = _byte_of_character()
    return "".join(f"<0x{table[c]:02X}>" if c in table else c for c in token)


def _byte_of_character() -> dict[str, int]:
    """Return byte-level BPE's printable stand-ins by character."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in plain]
    table = {chr(b): b for b in plain}
    return table | {chr(256 + n): b for n, b in enumerate(others)}
