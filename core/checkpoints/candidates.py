"""Every checkpoint as a draft for one target: the fitting ones first, each with why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from core.checkpoints.facts import CheckpointFacts
from core.checkpoints.pairing import Fit, PairVerdict, judge_pair
from core.errors import CoreError

_ORDER = {Fit.FITS: 0, Fit.NOTED: 1, Fit.NOT: 2}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A checkpoint judged as a draft.

    Attributes:
        facts: what it is.
        verdict: whether it fits the target, and why not.
        size_ratio: its parameters over the target's; None where one is not known.
    """

    facts: CheckpointFacts
    verdict: PairVerdict
    size_ratio: float | None

    @property
    def sentence(self) -> str:
        """The first reason or note, or an empty string."""
        return next(iter((*self.verdict.reasons, *self.verdict.notes)), "")


def judge_candidates(
    target: CheckpointFacts, known: Iterable[CheckpointFacts]
) -> tuple[Candidate, ...]:
    """Return every checkpoint as a draft for ``target``, sorted by fit and by size."""
    found = [_candidate(target, facts) for facts in known]
    return tuple(sorted(found, key=_order))


def _candidate(target: CheckpointFacts, facts: CheckpointFacts) -> Candidate:
    try:
        verdict = judge_pair(target, facts)
    except CoreError as error:  # a tokenizer that cannot be read is a reason, too
        verdict = PairVerdict(False, (error.sentence,))
    known = target.num_parameters and facts.num_parameters
    ratio = facts.num_parameters / target.num_parameters if known else None
    return Candidate(facts, verdict, ratio)


def _order(candidate: Candidate) -> tuple[int, float, str]:
    ratio = candidate.size_ratio
    place = _ORDER[candidate.verdict.fit]
    return place, float("inf") if ratio is None else ratio, candidate.facts.name
