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
from core.sampling.block_rows import CertainRows, chance, chances
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
        self._unwarped_tops = summaries.UnwarpedTops()
        self._last_origin = Origin.PLAIN if plain else Origin.BONUS

    def places(
        self, played: Round, position: int, settings: DecodingConfig
    ) -> tuple[Place, ...]:
        """Return the record of each proposal of the round."""
        tested, ids = count_round(played).tested, played.proposal.ids
        drafts = chances(played.judgement.draft, ids)
        return tuple(
            self._judged(played, place, drafts[place], position, settings)
            if place < tested
            else self._discarded(played, place, drafts[place])
            for place in range(len(ids))
        )

    def _discarded(self, played: Round, place: int, draft: float) -> Place:
        token_id = played.proposal.ids[place]
        return Place(
            index=place + 1,
            token_id=token_id,
            text=self._label(token_id),
            verdict=Verdict.DISCARDED,
            draft_probability=draft,
        )

    def _judged(
        self,
        played: Round,
        place: int,
        draft: float,
        position: int,
        settings: DecodingConfig,
    ) -> Place:
        judgement, token_id = played.judgement, played.proposal.ids[place]
        target = chance(judgement.target, place, token_id)
        overlap, product, agrees = _compared(played, place, draft, position, settings)
        accepted = place < played.accepted
        return Place(
            index=place + 1,
            token_id=token_id,
            text=self._label(token_id),
            verdict=Verdict.ACCEPTED if accepted else Verdict.REFUSED,
            draft_probability=draft,
            target_probability=target,
            uniform=judgement.uniforms[place] if judgement.uniforms else None,
            acceptance_probability=acceptance.acceptance_probability(draft, target),
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
        if settings.temperature == 0:
            draft, ids = _draft_scores(played, place)
            tops = self._unwarped_tops(draft, ids, judgement.scores[place])
        else:
            laws = judgement.draft[place], judgement.target[place]
            laws = *laws, judgement.residual(place)
            tops = map(summaries.most_probable, laws)
        draft_top, target_top, residual_top = map(self._named, tops)
        return {
            "draft_top": draft_top,
            "target_top": target_top,
            "residual_top": residual_top,
        }

    def _named(self, best: summaries.Best) -> tuple[Candidate, ...]:
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
            target_probability=chance(played.judgement.target, index, token_id),
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
            scores = played.judgement.scores[index]
            return self._named(summaries.most_probable_unwarped(scores))
        row = played.judgement.target[index]
        return self._named(summaries.most_probable(row))

    def _margin(
        self, played: Round, index: int, settings: DecodingConfig
    ) -> tuple[float | None, bool]:
        """Return the gap of the scores that chose a token, and whether it is rounding.

        Logits at temperature 0, log-probability plus noise where the target's own
        stream chose. Under the maximal rule an accepted or resampled token has none.
        """
        gap = self._lead(played, index)
        if gap is None or gap == float("inf"):
            return None, False
        scores, temperature = played.judgement.scores[index], settings.temperature
        best = scores.max() if temperature > 0 else scores[played.tokens[index]]
        tolerance = summaries.near_tie_tolerance(float(best), self._dtype)
        return gap, gap <= tolerance / (temperature or 1.0)

    def _lead(self, played: Round, index: int) -> float | None:
        choices = played.judgement.choices
        if index < len(choices):
            return choices[index].margin
        if played.last is None or index < len(played.proposal.ids):
            return None
        return played.last.margin


def _draft_scores(played: Round, place: int) -> tuple[Tensor, Tensor | None]:
    """Return [n] scores of the draft at one place, and the ids that they stand for."""
    rows = played.proposal.scores
    if isinstance(rows, Tensor):
        return rows[place], None
    if rows is not None:
        return rows.narrow(place)
    assert isinstance(played.judgement.draft, CertainRows), "a drafter without scores"
    return played.judgement.draft.narrow(place)


def _compared(
    played: Round, place: int, draft: float, position: int, settings: DecodingConfig
) -> tuple[float, float, bool]:
    """Return overlap and product of a place's laws, and whether shared noise agrees.

    At temperature 0 the target's law is its choice, and so is the law of a draft that
    was certain: then nothing need be summed.

    Args:
        played: the round.
        place: which proposal.
        draft: its draft probability.
        position: of the round's first token.
        settings: of the round.
    """
    judgement = played.judgement
    if settings.temperature == 0 and draft == 1 and judgement.choices:
        same = judgement.choices[place].token_id == played.proposal.ids[place]
        return float(same), float(same), same
    key = stream_key(settings.seed, Purpose.TARGET, position + place)
    return summaries.compare(judgement.draft[place], judgement.target[place], key)
