"""Rounds that judge or draw by another row than the right one."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from core.decoding import speculative
from core.drafters import draft_model
from core.drafters.draft_model import DraftModel
from core.lab.mutants.mutant import mutant, needing_draft, replaced
from core.sampling import distributions
from core.sampling.draws import Choice
from core.sampling.streams import Purpose


@needing_draft
def ratio_from_unwarped_draft() -> Iterator[None]:
    """The ratio takes the draft before temperature and top-k."""
    right = DraftModel.propose

    def unwarped(row, *others):
        return row.softmax(-1)

    def wrong(self, prefix, lookahead, settings, chance):
        drawn_from = lambda row: distributions.warp(row.log(), settings)  # noqa: E731
        with replaced(draft_model, "warp_numbers", unwarped):
            other = _OtherWeights(chance, drawn_from)
            return right(self, prefix, lookahead, settings, other)

    with replaced(DraftModel, "propose", wrong):
        yield


@mutant
def bonus_from_unwarped() -> Iterator[None]:
    """The bonus token is drawn before temperature and top-k."""
    right = speculative.draw_last

    def wrong(judgement, position, chance):
        place = judgement.survivors
        if place < len(judgement.draft):
            return right(judgement, position, chance)
        row = judgement.scores[place].softmax(-1)
        return chance.choose(Purpose.TARGET, position + place, row)

    with replaced(speculative, "draw_last", wrong):
        yield


@mutant
def bonus_from_the_row_before() -> Iterator[None]:
    """The bonus token is drawn from the row before its own."""
    right = speculative.draw_last

    def wrong(judgement, position, chance):
        place = judgement.survivors
        if place < len(judgement.draft) or place == 0:
            return right(judgement, position, chance)
        row = judgement.target[place - 1]
        return chance.choose(Purpose.TARGET, position + place, row)

    with replaced(speculative, "draw_last", wrong):
        yield


class _OtherWeights:
    """Draws that change the weights before they ask the real ones."""

    def __init__(self, inner: Any, change: Callable[[Tensor], Tensor]) -> None:
        self._inner, self._change = inner, change

    def choose(self, purpose: Purpose, position: int, weights: Tensor) -> Choice:
        """Draw from the changed weights."""
        return self._inner.choose(purpose, position, self._change(weights))

    def survivors(self, position: int, draft: Any, target: Any) -> Any:
        """Judge as the real draws do."""
        return self._inner.survivors(position, draft, target)


@contextlib.contextmanager
def _draft_draws(change: Callable[[Tensor], Tensor]) -> Iterator[None]:
    right = DraftModel.propose

    def wrong(self, prefix, lookahead, settings, chance):
        other = _OtherWeights(chance, change)
        return right(self, prefix, lookahead, settings, other)

    with replaced(DraftModel, "propose", wrong):
        yield


@needing_draft
def greedy_draft_soft_probability() -> Iterator[None]:
    """The draft takes its favourite but reports soft probabilities."""

    def favourite(row):
        return distributions.one_hot(row.argmax(-1), row.shape[-1], row.dtype)

    with _draft_draws(favourite):
        yield


@needing_draft
def draw_in_low_precision() -> Iterator[None]:
    """The draft draws in half precision and reports full precision."""
    with _draft_draws(lambda row: row.to(torch.bfloat16).to(row.dtype)):
        yield


@mutant
def verify_row_off_by_one() -> Iterator[None]:
    """Place i is judged by the target's row i + 1."""
    right = speculative._penalised

    def wrong(sequence, proposal, logits, settings):
        return right(sequence, proposal, logits.roll(-1, 0), settings)

    with replaced(speculative, "_penalised", wrong):
        yield
