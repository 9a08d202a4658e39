"""From token ids to text pieces that never show half a character."""

from __future__ import annotations

from typing import Any

_BROKEN = "\ufffd"
_CONTEXT = 8  # tokens decoded again for context
_LONGEST_CHARACTER = 4  # UTF-8 bytes, each of which may be a token of its own


class Detokenizer:
    """Turns committed ids into pieces whose concatenation is the decoded text.

    A character made of several tokens comes with the last of them; those before it
    bring an empty piece. Ids are decoded in context, never alone, since tokenizers mark
    spaces and bytes relative to what stands before.
    """

    def __init__(self, tokenizer: Any, prompt_ids: list[int]) -> None:
        self._tokenizer = tokenizer
        self._ids = list(prompt_ids[-_CONTEXT:])
        self._shown = self._decode(self._ids).rstrip(_BROKEN)
        self._waiting = 0

    def push(self, token_id: int) -> str:
        """Return the text that ``token_id`` completes; empty inside a character."""
        self._ids.append(token_id)
        text = self._decode(self._ids)
        whole = text.rstrip(_BROKEN)
        self._waiting = self._waiting + 1 if whole != text else 0
        if self._waiting > _LONGEST_CHARACTER:  # these bytes will never be a character
            whole, self._waiting = text, 0
        piece = whole[_common_length(self._shown, whole) :]
        self._shown = whole
        self._shorten()
        return piece

    def _shorten(self) -> None:
        """Keep a short context, so that a long run costs the same per token."""
        if len(self._ids) > 4 * _CONTEXT and self._waiting == 0:
            self._ids = self._ids[-_CONTEXT:]
            self._shown = self._decode(self._ids)

    def _decode(self, ids: list[int]) -> str:
        return self._tokenizer.decode(
            ids, skip_special_tokens=False, clean_up_tokenization_spaces=False
        )


def _common_length(before: str, after: str) -> int:
    pairs = enumerate(zip(before, after, strict=False))
    shorter = min(len(before), len(after))
    return next((i for i, (a, b) in pairs if a != b), shorter)


class TokenLabels:
    """Short names of single tokens for tables and tooltips, remembered."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._labels: dict[int, str] = {}

    def __call__(self, token_id: int) -> str:
        """Return the token's text, or its tokenizer name where it is no character."""
        label = self._labels.get(token_id)
        if label is None:
            label = self._labels[token_id] = self._name(token_id)
        return label

    def _name(self, token_id: int) -> str:
        text = self._tokenizer.decode(
            [token_id], skip_special_tokens=False, clean_up_tokenization_spaces=False
        )
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
