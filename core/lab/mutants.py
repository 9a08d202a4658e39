"""Rounds that are wrong on purpose: a check that passes them checks nothing.

Each mutant is a context manager that replaces one step of the rule by a mistake that
other programs have made. ``python -m core.lab.mutants`` runs all of them against the
exact law and the chi-square and prints what caught each.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import torch
from torch import Tensor

from core.config import MAX_LOOKAHEAD, DecodingConfig
from core.decoding import lane, speculative
from core.drafters.draft_model import DraftModel
from core.errors import ConfigurationError
from core.lab import enumeration
from core.sampling import acceptance, distributions, draws, streams
from core.sampling.draws import Choice, KeyedDraws
from core.sampling.streams import Purpose


class Need(StrEnum):
    """What a mutant needs to show; the value reads well after *with*."""

    NOTHING = ""
    DRAFT_MODEL = "a draft model"
    PENALTY = "a penalty, such as a repetition penalty of 1.4,"


@dataclass(frozen=True, slots=True)
class Mutant:
    """A wrong variant.

    Attributes:
        name: for tables and options.
        mistake: what it does, in a few words.
        applied: replaces the right step for as long as it is entered.
        needs: without what it changes nothing.
    """

    name: str
    mistake: str
    applied: Callable[[], AbstractContextManager[None]]
    needs: Need = Need.NOTHING

    def require_applies(self, settings: DecodingConfig, *, drafted: bool) -> None:
        """Refuse where the mistake could not show, and so could not be noticed.

        Args:
            settings: of the run to break.
            drafted: whether the draft is a model, and no certain drafter.

        Raises:
            ConfigurationError: if what it needs is not there.
        """
        has = {
            Need.NOTHING: True,
            Need.DRAFT_MODEL: drafted,
            Need.PENALTY: distributions.has_penalties(settings),
        }
        if not has[self.needs]:
            raise ConfigurationError(
                f"The mistake {self.name!r} shows with {self.needs} only; choose one."
            )


MUTANTS: dict[str, Mutant] = {}


def _mutant(make: Callable[[], Iterator[None]], needs: Need = Need.NOTHING) -> Any:
    """Register a mutant under its own name; its docstring says the mistake."""
    manager = contextlib.contextmanager(make)
    mistake = (make.__doc__ or "").rstrip(".")
    MUTANTS[make.__name__] = Mutant(make.__name__, mistake, manager, needs)
    return manager


_needing_draft = functools.partial(_mutant, needs=Need.DRAFT_MODEL)
_needing_penalty = functools.partial(_mutant, needs=Need.PENALTY)


@contextlib.contextmanager
def _replaced(owner: Any, name: str, wrong: Any) -> Iterator[None]:
    right = getattr(owner, name)
    setattr(owner, name, wrong)
    try:
        yield
    finally:
        setattr(owner, name, right)


# --- the rule ----------------------------------------------------------------------


@contextlib.contextmanager
def _rule(chance: Callable[[Any, Any], Any]) -> Iterator[None]:
    """Accept with ``chance(draft, target)`` in each of the rule's three forms."""

    def survivors(self, position, draft, target):
        chances = [float(chance(d, t)) for d, t in zip(draft, target, strict=True)]
        return right(self, position, [1.0] * len(chances), chances)

    right = KeyedDraws.survivors
    with (
        _replaced(KeyedDraws, "survivors", survivors),
        _replaced(draws, "accepts", lambda u, d, t: u < chance(d, t)),
        _replaced(enumeration, "_chance", lambda d, t: float(chance(d, t))),
    ):
        yield


@_mutant
def always_accept() -> Iterator[None]:
    """Every proposal is accepted."""
    with _rule(lambda d, t: d * 0 + 1.0):
        yield


@_mutant
def ratio_upside_down() -> Iterator[None]:
    """Accepted with draft / target instead of target / draft."""

    def chance(d, t):
        if isinstance(d, Tensor):
            return (d / t.clamp(min=1e-30)).clamp(max=1)
        return min(1.0, d / t) if t > 0 else 1.0

    with _rule(chance):
        yield


@_needing_draft
def ratio_without_draft() -> Iterator[None]:
    """Accepted with the target's probability, as if the draft were certain."""
    with _rule(lambda d, t: t):
        yield


# --- the correction ----------------------------------------------------------------


def _residual(wrong: Callable[[Tensor, Tensor], Tensor]) -> Any:
    return _replaced(acceptance, "residual_distribution", wrong)


def _normalised(weights: Tensor, fallback: Tensor) -> Tensor:
    mass = weights.sum(-1, keepdim=True)
    return torch.where(mass > 0, weights / mass.clamp(min=1e-30), fallback)


@_mutant
def correction_from_target() -> Iterator[None]:
    """The correction is drawn from the target."""
    with _residual(lambda draft, target: target):
        yield


@_mutant
def residual_absolute() -> Iterator[None]:
    """The correction is drawn from |target - draft|."""
    with _residual(lambda d, t: _normalised((t - d).abs(), t)):
        yield


@_mutant
def residual_of_draft() -> Iterator[None]:
    """The correction is drawn from (draft - target)+."""
    with _residual(lambda d, t: _normalised((d - t).clamp(min=0), t)):
        yield


# --- the distributions -------------------------------------------------------------


@_needing_draft
def ratio_from_unwarped_draft() -> Iterator[None]:
    """The ratio takes the draft before temperature and top-k."""
    right = speculative.draft_distributions

    def wrong(proposal, scores):
        if proposal.scores is None:
            return right(proposal, scores)
        rows = torch.stack([row.softmax(-1) for row in proposal.scores])
        rows = rows.to(scores.dtype)
        return distributions.fit_width(rows, scores.shape[-1])

    with _replaced(speculative, "draft_distributions", wrong):
        yield


@_mutant
def bonus_from_unwarped() -> Iterator[None]:
    """The bonus token is drawn before temperature and top-k."""
    right = speculative.draw_last

    def wrong(judgement, position, chance):
        place = judgement.survivors
        if place < len(judgement.draft):
            return right(judgement, position, chance)
        row = judgement.scores[place].softmax(-1)
        return chance.choose(Purpose.TARGET, position + place, row)

    with _replaced(speculative, "draw_last", wrong):
        yield


@_mutant
def bonus_from_the_row_before() -> Iterator[None]:
    """The bonus token is drawn from the row before its own."""
    right = speculative.draw_last

    def wrong(judgement, position, chance):
        place = judgement.survivors
        if place < len(judgement.draft) or place == 0:
            return right(judgement, position, chance)
        row = judgement.target[place - 1]
        return chance.choose(Purpose.TARGET, position + place, row)

    with _replaced(speculative, "draw_last", wrong):
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

    with _replaced(DraftModel, "propose", wrong):
        yield


@_needing_draft
def greedy_draft_soft_probability() -> Iterator[None]:
    """The draft takes its favourite but reports soft probabilities."""

    def favourite(row):
        return distributions.one_hot(row.argmax(-1), row.shape[-1], row.dtype)

    with _draft_draws(favourite):
        yield


@_needing_draft
def draw_in_low_precision() -> Iterator[None]:
    """The draft draws in half precision and reports full precision."""
    with _draft_draws(lambda row: row.to(torch.bfloat16).to(row.dtype)):
        yield


@_mutant
def verify_row_off_by_one() -> Iterator[None]:
    """Place i is judged by the target's row i + 1."""
    right = speculative._penalised

    def wrong(sequence, proposal, logits, settings):
        return right(sequence, proposal, logits.roll(-1, 0), settings)

    with _replaced(speculative, "_penalised", wrong):
        yield


# --- what is remembered ------------------------------------------------------------


@_needing_draft
def draft_cache_not_rolled_back() -> Iterator[None]:
    """The draft's cache keeps refused proposals."""
    with _replaced(DraftModel, "truncate", lambda self, length: None):
        yield


@_mutant
def target_cache_not_rolled_back() -> Iterator[None]:
    """The target's cache keeps refused proposals."""

    def wrong(sequence, accepted):
        if sequence.drafter is not None:
            sequence.drafter.truncate(len(sequence.ids) - 1)

    with _replaced(speculative, "_roll_back", wrong):
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

    return _replaced(speculative, "_penalised", wrong)


@_needing_penalty
def penalties_count_rejected() -> Iterator[None]:
    """Penalties count proposals that were not accepted yet."""
    with _history(lambda start, row: start + MAX_LOOKAHEAD):
        yield


@_needing_penalty
def penalties_miss_the_block() -> Iterator[None]:
    """All rows of a block are penalised by the committed tokens alone."""
    with _history(lambda start, row: start):
        yield


@_mutant
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

    with _replaced(speculative, "commit", wrong), _replaced(lane, "commit", wrong):
        yield


# --- chance ------------------------------------------------------------------------


@contextlib.contextmanager
def _keys(change: Callable[[Purpose, Any], tuple[Purpose, Any]]) -> Iterator[None]:
    one, many = streams.stream_key, streams.stream_keys

    def wrong_one(seed, purpose, position):
        return one(seed, *change(purpose, position))

    def wrong_many(seed, purpose, position):
        return many(seed, *change(purpose, position))

    with (
        _replaced(streams, "stream_key", wrong_one),
        _replaced(streams, "stream_keys", wrong_many),
    ):
        yield


@_needing_draft
def residual_reuses_draft_noise() -> Iterator[None]:
    """The correction is drawn with the noise that drew the proposal."""

    def change(purpose, position):
        other = Purpose.DRAFT if purpose is Purpose.RESIDUAL else purpose
        return other, position

    with _keys(change):
        yield


@_mutant
def one_uniform_for_all_places() -> Iterator[None]:
    """All places are judged with the same u."""

    def change(purpose, position):
        return purpose, position * 0 if purpose is Purpose.ACCEPT else position

    with _keys(change):
        yield


if __name__ == "__main__":
    from core.lab.trial import main

    sys.exit(main())
