"""From a finished round's tensors to the plain values of its event."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import zip_longest

from torch import Tensor

from core.config import DecodingConfig
from core.decoding.speculative import Judgement, Round
from core.events import Candidate, Counts, Origin, Place, TokenOutcome, Verdict
from core.sampling import acceptance, summaries
from core.sampling.distributions import fit_width, softmax
from core.sampling.streams import Purpose, stream_key

Label = Callable[[int], str]


@dataclass(frozen=True, slots=True)
class Recorded:
    """A finished round and the record of it.

    Attributes:
        played: the round.
        places: of its proposals.
        tokens: that it committed.
        laps_ms: draft, verify and rule.
    """

    played: Round
    places: tuple[Place, ...]
    tokens: tuple[TokenOutcome, ...]
    laps_ms: tuple[float, float, float]


def count_round(played: Round) -> Counts:
    """Return one round's counts (a token drawn with nothing refused is a bonus)."""
    drafted, accepted = len(played.proposal.ids), played.accepted
    resampled = int(played.last is not None and accepted < drafted)
    return Counts(
        rounds=1,
        drafted=drafted,
        tested=accepted + resampled,
        accepted=accepted,
        resampled=resampled,
        bonus=int(played.last is not None) - resampled,
        emitted=len(played.tokens),
    )


class Recorder:
    """Describes rounds of one lane for people.

    Args:
        label: names a token.
        dtype: of the target, which decides what a near tie is.
        plain: the lane decodes plainly, so its tokens are PLAIN, not BONUS.
    """

    def __init__(self, label: Label, dtype: str, *, plain: bool) -> None:
        self._label = label
        self._dtype = dtype
        self._last_origin = Origin.PLAIN if plain else Origin.BONUS

    def places(
        self, played: Round, position: int, settings: DecodingConfig
    ) -> tuple[Place, ...]:
        """Return the record of each proposal of the round."""
        tested = count_round(played).tested
        return tuple(
            self._judged(played, place, position, settings)
            if place < tested
            else self._discarded(played, place)
            for place in range(len(played.proposal.ids))
        )

    def _discarded(self, played: Round, place: int) -> Place:
        token_id = played.proposal.ids[place]
        return Place(
            index=place + 1,
            token_id=token_id,
            text=self._label(token_id),
            verdict=Verdict.DISCARDED,
            draft_probability=float(played.judgement.draft[place][token_id]),
        )

    def _judged(
        self, played: Round, place: int, position: int, settings: DecodingConfig
    ) -> Place:
        judgement, token_id = played.judgement, played.proposal.ids[place]
        draft, target = judgement.draft[place], judgement.target[place]  # [V], [V]
        key = stream_key(settings.seed, Purpose.TARGET, position + place)
        overlap, product, agrees = summaries.compare(draft, target, key)
        chances = float(draft[token_id]), float(target[token_id])
        accepted = place < played.accepted
        return Place(
            index=place + 1,
            token_id=token_id,
            text=self._label(token_id),
            verdict=Verdict.ACCEPTED if accepted else Verdict.REFUSED,
            draft_probability=chances[0],
            target_probability=chances[1],
            uniform=judgement.uniforms[place] if judgement.uniforms else None,
            acceptance_probability=acceptance.acceptance_probability(*chances),
            overlap=overlap,
            product=product,
            shared_noise_agrees=agrees,
            target_choice=self._target_choice(judgement, place),
            **self._candidates(played, place, settings),
        )

    def _target_choice(self, judgement: Judgement, place: int) -> str | None:
        if not judgement.choices:
            return None
        return self._label(judgement.choices[place].token_id)

    def _candidates(
        self, played: Round, place: int, settings: DecodingConfig
    ) -> dict[str, tuple[Candidate, ...]]:
        """Return the best of draft, target and residual; unwarped at temperature 0."""
        judgement = played.judgement
        draft, target = judgement.draft[place], judgement.target[place]  # [V], [V]
        if settings.temperature == 0:
            target = softmax(judgement.scores[place])
            draft = self._unwarped_draft(played, place, target)
            residual = acceptance.residual_distribution(draft, target)
        else:
            residual = judgement.residual(place)
        return {
            "draft_top": self._top(draft),
            "target_top": self._top(target),
            "residual_top": self._top(residual),
        }

    def _unwarped_draft(self, played: Round, place: int, target: Tensor) -> Tensor:
        """Return what the draft thought, as wide as ``target`` [V]."""
        scores = played.proposal.scores
        if scores is None:
            return played.judgement.draft[place]
        whole = isinstance(scores, Tensor)
        law = softmax(scores[place]) if whole else scores.softmax(place)
        return fit_width(law.to(target.device), target.shape[-1])

    def _top(self, row: Tensor) -> tuple[Candidate, ...]:
        best = summaries.most_probable(row)
        return tuple(Candidate(i, self._label(i), p) for i, p in best)

    def tokens(
        self, played: Round, places: tuple[Place, ...], settings: DecodingConfig
    ) -> tuple[TokenOutcome, ...]:
        """Return the record of each committed token."""
        return tuple(
            self._token(played, i, place, settings)
            for i, place in zip_longest(
                range(len(played.tokens)), places[: len(played.tokens)]
            )
        )

    def _token(
        self, played: Round, index: int, place: Place | None, settings: DecodingConfig
    ) -> TokenOutcome:
        token_id = played.tokens[index]
        margin, near_tie = self._margin(played, index, settings)
        return TokenOutcome(
            token_id=token_id,
            text=played.pieces[index],
            origin=self._origin(played, index, place),
            target_probability=float(played.judgement.target[index][token_id]),
            draft_probability=place.draft_probability if place else None,
            acceptance_probability=place.acceptance_probability if place else None,
            place=place.index if place else None,
            target_top=() if place else self._target_top(played, index, settings),
            margin=margin,
            near_tie=near_tie,
        )

    def _origin(self, played: Round, index: int, place: Place | None) -> Origin:
        if index < played.accepted:
            return Origin.ACCEPTED
        return Origin.RESAMPLED if place else self._last_origin

    def _target_top(
        self, played: Round, index: int, settings: DecodingConfig
    ) -> tuple[Candidate, ...]:
        if settings.temperature == 0:
            return self._top(softmax(played.judgement.scores[index]))
        return self._top(played.judgement.target[index])

    def _margin(
        self, played: Round, index: int, settings: DecodingConfig
    ) -> tuple[float | None, bool]:
        """Return the gap of the scores that chose a token, and whether it is rounding.

        Logits at temperature 0, log-probability plus noise where the target's own
        stream chose. Under the maximal rule an accepted or resampled token has none.
        """
        greedy = settings.temperature == 0
        gap = None if greedy else self._noise_margin(played, index)
        if not greedy and gap is None:
            return None, False
        (_, best), *others = summaries.largest(played.judgement.scores[index], 2)
        tolerance = summaries.near_tie_tolerance(best, self._dtype)
        if greedy:
            gap = best - others[0][1] if others else None
        else:
            tolerance /= settings.temperature
        if gap is None or gap == float("inf"):
            return None, False
        return gap, gap <= tolerance

    def _noise_margin(self, played: Round, index: int) -> float | None:
        choices = played.judgement.choices
        if index < len(choices):
            return choices[index].margin
        if played.last is None or index < len(played.proposal.ids):
            return None
        return played.last.margin
