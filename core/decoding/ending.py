"""When a run ends: end tokens, stop strings, limits; and what its text is."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from core.config import DecodingConfig
from core.decoding.detokenizer import Detokenizer
from core.events import StopReason


@dataclass(frozen=True, slots=True)
class Limits:
    """How far a run may go.

    Attributes:
        tokens: emitted tokens at most; the smaller of what was asked and the context.
        by_context: the context is the smaller.
    """

    tokens: int
    by_context: bool


class Ending:
    """Follows the committed tokens and says when they end the run.

    Attributes:
        text: everything emitted, up to a stop string and without half a character.
        reason: why the run ended, or None while it goes on.
    """

    def __init__(
        self,
        detokenizer: Detokenizer,
        eos_ids: Collection[int],
        limits: Limits,
        settings: DecodingConfig,
    ) -> None:
        self._detokenizer = detokenizer
        self._eos_ids = frozenset(() if settings.ignore_eos else eos_ids)
        self._limits = limits
        self._stop = settings.stop
        self._emitted = 0
        self.text = ""
        self.reason: StopReason | None = None

    @property
    def remaining(self) -> int:
        """Tokens that may still be emitted."""
        return self._limits.tokens - self._emitted

    @property
    def held_characters(self) -> int:
        """Characters at the end of the text that may be the start of a stop string."""
        if self.reason is not None:
            return 0
        return max((_overlap(self.text, s) for s in self._stop), default=0)

    def push(self, token_id: int) -> str:
        """Commit one token and return its piece of text; sets ``reason`` at the end."""
        self._emitted += 1
        if token_id in self._eos_ids:
            self.reason = StopReason.EOS
            return ""
        piece = self._detokenizer.push(token_id)
        start = len(self.text)
        self.text += piece
        if self._cut_at_stop(start):
            self.reason = StopReason.STOP
        elif self.remaining == 0:
            by_context = self._limits.by_context
            self.reason = StopReason.CONTEXT if by_context else StopReason.LENGTH
        return piece

    def _cut_at_stop(self, start: int) -> bool:
        """Cut the text before the first stop string that the last piece completed."""
        found = [self.text.find(s, max(0, start - len(s) + 1)) for s in self._stop]
        ends = [f for f in found if f >= 0]
        if ends:
            self.text = self.text[: min(ends)]
        return bool(ends)


def _overlap(text: str, stop: str) -> int:
    """Return the length of the longest end of ``text`` that ``stop`` begins with."""
    for size in range(min(len(text), len(stop) - 1), 0, -1):
        if text.endswith(stop[:size]):
            return size
    return 0
