"""Rounds that remember what was refused, or miss what was said."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from core.config import MAX_LOOKAHEAD
from core.decoding import lane, speculative
from core.drafters.draft_model import DraftModel
from core.lab.mutants.mutant import mutant, needing_draft, needing_penalty, replaced
from core.sampling import distributions


@needing_draft
def draft_cache_not_rolled_back() -> Iterator[None]:
    """The draft's cache keeps refused proposals."""
    with replaced(DraftModel, "truncate", lambda self, length: None):
        yield


@mutant
def target_cache_not_rolled_back() -> Iterator[None]:
    """The target's cache keeps refused proposals."""

    def wrong(sequence, accepted):
        if sequence.drafter is not None:
            sequence.drafter.truncate(len(sequence.ids) - 1)

    with replaced(speculative, "_roll_back", wrong):
        yield


def _history(rows_see: Callable[[int, int], int]) -> Any:
    """Let row i see ``rows_see(start, i)`` tokens of prefix and proposals."""

    def wrong(sequence, proposal, logits, settings):
        history = [*sequence.ids, *proposal.ids]
        start, prompt = len(sequence.ids), sequence.prompt_length
        rows = [
            distributions.penalise(row, history[: rows_see(start, i)], prompt, settings)
            for i, row in enumerate(logits)
        ]
        return torch.stack(rows)

    return replaced(speculative, "_penalised", wrong)


@needing_penalty
def penalties_count_rejected() -> Iterator[None]:
    """Penalties count proposals that were not accepted yet."""
    with _history(lambda start, row: start + MAX_LOOKAHEAD):
        yield


@needing_penalty
def penalties_miss_the_block() -> Iterator[None]:
    """All rows of a block are penalised by the committed tokens alone."""
    with _history(lambda start, row: start):
        yield


@mutant
def eos_ignored_inside_a_block() -> Iterator[None]:
    """An end token inside an accepted block is not seen."""

    def wrong(sequence, proposal, judgement, chance):
        position, start = sequence.prefix.position, len(sequence.ids)
        pieces: list[str] = []
        for token_id in proposal.ids[: judgement.survivors]:
            speculative._push(sequence, token_id, pieces)
            sequence.ending.reason = None
        accepted = len(pieces)
        last = speculative.draw_last(judgement, position, chance)
        speculative._push(sequence, last.token_id, pieces)
        speculative._roll_back(sequence, accepted)
        tokens = tuple(sequence.ids[start:])
        return speculative.Round(
            proposal, judgement, accepted, last, tuple(pieces), tokens
        )

    with replaced(speculative, "commit", wrong), replaced(lane, "commit", wrong):
        yield
