"""Prompt lookup: propose what followed the longest match in the committed text.

It has no model and no doubt: its proposals are certain, so the rule accepts each with
the target's own probability of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from core.config import DecodingConfig
from core.drafters.protocol import Prefix, Proposal
from core.events import ModelFacts
from core.sampling.draws import Draws

SHORTEST_MATCH = 2  # one token's repetition says next to nothing about the next one
LONGEST_MATCH = 8  # longer matches find no better continuation, only cost time


class PromptLookup:
    """Proposes the continuation of the latest, longest earlier match."""

    def __init__(self, vocabulary_size: int, context_length: int) -> None:
        self._facts = ModelFacts(
            name="Prompt lookup",
            reference="lookup",
            num_parameters=0,
            num_layers=0,
            vocabulary_size=vocabulary_size,
            context_length=context_length,
            device="cpu",
            dtype="none",
            memory_bytes=0,
            row_invariant=True,
        )
        self._ends: dict[tuple[int, ...], int] = {}
        self._next_end = 1

    @property
    def facts(self) -> ModelFacts:
        """Facts of a drafter without weights."""
        return self._facts

    def prefill(
        self, ids: Sequence[int], on_chunk: Callable[[int], bool] = lambda done: True
    ) -> bool:
        """Index the prompt."""
        self._index(ids)
        return True

    def room(self, length: int) -> int:
        """Return a room that never ends: text can always be searched."""
        return 1 << 30

    def propose(
        self, prefix: Prefix, lookahead: int, settings: DecodingConfig, draws: Draws
    ) -> Proposal:
        """Return what followed the longest match of the text's end, or nothing."""
        if lookahead == 0:
            return Proposal()
        ids = prefix.ids
        self._index(ids)
        longest = min(LONGEST_MATCH, len(ids) - 1)
        for size in range(longest, SHORTEST_MATCH - 1, -1):
            end = self._ends.get(tuple(ids[-size:]))
            if end is not None:
                return Proposal(tuple(ids[end : end + lookahead]))
        return Proposal()

    def _index(self, ids: Sequence[int]) -> None:
        """Remember, for each run of tokens, where its latest occurrence ended.

        A run that ends with the text itself has no continuation yet, so the last token
        is not indexed before another one follows it.
        """
        for end in range(self._next_end, len(ids)):
            for size in range(SHORTEST_MATCH, min(LONGEST_MATCH, end) + 1):
                self._ends[tuple(ids[end - size : end])] = end
        self._next_end = max(self._next_end, len(ids))

    def observe(self, num_accepted: int) -> None:
        """Nothing to learn."""

    def truncate(self, length: int) -> None:
        """Nothing to forget: only committed text is indexed."""
