"""Whether a draft speaks the target's tokens, judged from files before any loading.

What counts is that an id means the same token on both sides. The width of the output
heads does not: rows beyond the tokenizer are padding and are masked.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Protocol

from core.checkpoints import demo
from core.checkpoints.facts import CheckpointFacts
from core.checkpoints.plain_only import draft_refusal, target_refusal
from core.checkpoints.vocabulary import FileVersion, Vocabulary, read, version_of
from core.errors import VocabularyMismatchError

_NAMED = 3
_LARGE_DRAFT = 0.8  # of the target's parameters: no speed-up is to be expected

Difference = tuple[int, str, str]


class Fit(StrEnum):
    """How well a draft fits, in the words that people read."""

    FITS = "fits"
    NOTED = "fits with a note"
    NOT = "does not fit"


class HasFacts(Protocol):
    """A loaded model, as far as pairing needs it."""

    @property
    def facts(self) -> CheckpointFacts:
        """What the checkpoint is."""
        ...


@dataclass(frozen=True, slots=True)
class PairVerdict:
    """Whether a pair fits, and why not.

    Attributes:
        fits: the draft can propose for the target.
        reasons: sentences why it does not; empty if it does.
        notes: sentences worth knowing about a pair that fits.
        differing: up to three (id, target's token, draft's token).
    """

    fits: bool
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    differing: tuple[Difference, ...] = ()

    @property
    def fit(self) -> Fit:
        """The verdict in one of three words."""
        if not self.fits:
            return Fit.NOT
        return Fit.NOTED if self.notes else Fit.FITS


@dataclass(frozen=True, slots=True)
class _Comparison:
    """What two vocabularies say of each other.

    Attributes:
        differing: the first ids that mean another text token.
        renamed: how many control tokens have another name.
        ours: ids that only the target knows.
        theirs: ids that only the draft knows.
    """

    differing: tuple[Difference, ...]
    renamed: int
    ours: tuple[int, ...]
    theirs: tuple[int, ...]


def judge_pair(
    target: CheckpointFacts | HasFacts, draft: CheckpointFacts | HasFacts
) -> PairVerdict:
    """Return whether ``draft`` can propose for ``target``.

    Args:
        target: facts of the target, or the loaded target.
        draft: facts of the draft, or the loaded draft.

    Raises:
        ModelLoadError: if a tokenizer cannot be read.
    """
    first, second = _facts(target), _facts(draft)
    problems = tuple(f.problem for f in (first, second) if f.problem)
    if problems:
        return PairVerdict(False, problems)
    if not (first.plain_only or second.plain_only):
        return _judge_tokens(first, second)
    refuse = target_refusal(first) if first.plain_only else draft_refusal(second)
    return PairVerdict(False, (refuse.sentence,))


def _judge_tokens(first: CheckpointFacts, second: CheckpointFacts) -> PairVerdict:
    """Judge a pair of which both can be rewound."""
    found = _compare(version_of(_tokenizer(first)), version_of(_tokenizer(second)))
    if found.differing:
        reason = _reason(first, second, found.differing)
        return PairVerdict(False, (reason,), (), found.differing)
    if first.path and _path(first).resolve() == _path(second).resolve():
        return PairVerdict(True, (), (_same_note(first),))
    notes = (*_token_notes(first, second, found), *_size_notes(first, second))
    return PairVerdict(True, (), notes)


@functools.lru_cache(maxsize=1024)  # both versions are part of what it is kept under
def _compare(target: FileVersion, draft: FileVersion) -> _Comparison:
    ours, theirs = read(target), read(draft)
    return _Comparison(
        tuple(islice(_differing(ours, theirs), _NAMED)),
        sum(1 for _ in _unequal(ours, theirs)),
        tuple(sorted(ours.tokens.keys() - theirs.tokens.keys())),
        tuple(sorted(theirs.tokens.keys() - ours.tokens.keys())),
    )


def require_fit(verdict: PairVerdict) -> None:
    """Check that a pair fits.

    Raises:
        VocabularyMismatchError: with the first reason, if it does not.
    """
    if not verdict.fits:
        raise VocabularyMismatchError(verdict.reasons[0], differing=verdict.differing)


def _facts(side: CheckpointFacts | HasFacts) -> CheckpointFacts:
    return side if isinstance(side, CheckpointFacts) else side.facts


def _path(facts: CheckpointFacts) -> Path:
    # The layer-skipped draft that was not sliced yet has the demo target's tokenizer.
    return Path(facts.path) if facts.path else demo.demo_folder()


def _tokenizer(facts: CheckpointFacts) -> Path:
    return Path(facts.tokenizer_path or _path(facts))


def _differing(ours: Vocabulary, theirs: Vocabulary) -> Iterator[Difference]:
    """Yield the ids that mean another text token on the other side."""
    for token_id, a, b in _unequal(ours, theirs):
        if not (token_id in ours.special and token_id in theirs.special):
            yield token_id, a, b


def _unequal(ours: Vocabulary, theirs: Vocabulary) -> Iterator[Difference]:
    for token_id in sorted(ours.tokens.keys() & theirs.tokens.keys()):
        a, b = ours.tokens[token_id], theirs.tokens[token_id]
        # GGUF spells some tokens of spaces with spaces, tokenizer.json with U+2581.
        if a != b and a.replace(" ", "\u2581") != b.replace(" ", "\u2581"):
            yield token_id, a, b


def _reason(
    target: CheckpointFacts, draft: CheckpointFacts, differing: Iterable[Difference]
) -> str:
    ids = ", ".join(f"id {i} is {b!r} and not {a!r}" for i, a, b in differing)
    return (
        f"The draft {draft.name} does not use the tokens of {target.name}: {ids}; "
        "choose a draft of the same family, or prompt lookup."
    )


def _token_notes(
    target: CheckpointFacts, draft: CheckpointFacts, found: _Comparison
) -> Iterator[str]:
    if found.renamed:
        yield (
            f"{found.renamed} control tokens have other names in the draft "
            f"{draft.name}."
        )
    for more, less, extra in (
        (target, draft, found.ours),
        (draft, target, found.theirs),
    ):
        if extra:
            yield _extra_note(more.name, less.name, extra)


def _extra_note(more: str, less: str, extra: tuple[int, ...]) -> str:
    ids = f"id {extra[0]}" if len(extra) == 1 else f"ids {extra[0]} to {extra[-1]}"
    plural = "token" if len(extra) == 1 else "tokens"
    return f"{more} knows {len(extra)} {plural} more than {less} ({ids})."


def _same_note(target: CheckpointFacts) -> str:
    return (
        f"Draft and target are both {target.name}: it is loaded once, every greedy "
        "proposal is accepted, and none can come faster than the target's own tokens."
    )


def _size_notes(target: CheckpointFacts, draft: CheckpointFacts) -> Iterator[str]:
    if draft.context_length < target.context_length:
        yield (
            f"The draft's context ends at {draft.context_length} tokens, the target's "
            f"at {target.context_length}; beyond that nothing is proposed."
        )
    if draft.num_parameters >= _LARGE_DRAFT * target.num_parameters:
        share = draft.num_parameters / max(1, target.num_parameters)
        yield (
            f"The draft has {share:.0%} of the target's parameters, so a speed-up is "
            "unlikely."
        )
