"""What became of each proposal and each token of a round."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Origin(StrEnum):
    """How a token came to be."""

    PROMPT = "prompt"
    ACCEPTED = "accepted"
    RESAMPLED = "resampled"
    BONUS = "bonus"
    PLAIN = "plain"


class Verdict(StrEnum):
    """What became of a proposal."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    DISCARDED = "discarded"  # stood behind the end of the round; never judged


@dataclass(frozen=True, slots=True)
class Candidate:
    """One token of a distribution.

    Attributes:
        token_id: its id.
        text: a label for people; bytes that are no character stand as <0xNN>.
        probability: its share, 0 to 1.
    """

    token_id: int
    text: str
    probability: float


@dataclass(frozen=True, slots=True)
class Place:
    """One proposal of a round and how it was judged.

    Probabilities are those that the rule used (warped). Under temperature 0 these are 0
    or 1, and the three lists of candidates show the unwarped softmax instead.

    Attributes:
        index: the place in the block, from 1.
        token_id: the proposed token.
        text: its label.
        verdict: accepted, refused or discarded.
        draft_probability: of the proposed token under the draft; 1 if it was certain.
        target_probability: of the proposed token under the target; None if not judged.
        uniform: the number u that decided; None where none was drawn.
        acceptance_probability: min(1, target / draft); None if not judged.
        overlap: sum over the vocabulary of min(draft, target); None if not judged.
        product: sum over the vocabulary of draft * target; None if not judged.
        shared_noise_agrees: whether shared noise would have accepted here.
        target_choice: the label of the token that the target itself chose (temperature
            0 and shared noise), else None.
        draft_top: the most probable tokens of the draft, at most 8.
        target_top: the most probable tokens of the target, at most 8.
        residual_top: the most probable tokens of the residual, at most 8.
    """

    index: int
    token_id: int
    text: str
    verdict: Verdict
    draft_probability: float
    target_probability: float | None = None
    uniform: float | None = None
    acceptance_probability: float | None = None
    overlap: float | None = None
    product: float | None = None
    shared_noise_agrees: bool | None = None
    target_choice: str | None = None
    draft_top: tuple[Candidate, ...] = ()
    target_top: tuple[Candidate, ...] = ()
    residual_top: tuple[Candidate, ...] = ()


@dataclass(frozen=True, slots=True)
class TokenOutcome:
    """One committed token and how it came to be.

    Attributes:
        token_id: its id.
        text: what it adds to the text; empty while a character or stop string may
            still be growing, and for an end token.
        origin: accepted, resampled, bonus, plain or prompt.
        target_probability: under the target as warped; None for a prompt token.
        draft_probability: under the draft; None when no proposal was judged here.
        acceptance_probability: of the proposal judged here; None without one.
        place: index of the judged place of its round (from 1), or None.
        target_top: the target's most probable tokens where no place was judged.
        margin: how far the scores that chose it put it before the second best: logits
            at temperature 0, log-probability plus noise where the target's own noise
            chose; None elsewhere.
        near_tie: the margin is within the rounding of the model's dtype.
    """

    token_id: int
    text: str
    origin: Origin
    target_probability: float | None = None
    draft_probability: float | None = None
    acceptance_probability: float | None = None
    place: int | None = None
    target_top: tuple[Candidate, ...] = ()
    margin: float | None = None
    near_tie: bool = False


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts of a run (DESIGN: tested = accepted + resampled, and so on)."""

    rounds: int = 0
    drafted: int = 0
    tested: int = 0
    accepted: int = 0
    resampled: int = 0
    bonus: int = 0
    emitted: int = 0

    def __add__(self, other: Counts) -> Counts:
        """Return the sums, count by count."""
        return Counts(
            self.rounds + other.rounds,
            self.drafted + other.drafted,
            self.tested + other.tested,
            self.accepted + other.accepted,
            self.resampled + other.resampled,
            self.bonus + other.bonus,
            self.emitted + other.emitted,
        )
