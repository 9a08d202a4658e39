"""From the figures that were read of a round on a device to its event.

The same record as ``records`` makes of a round's tensors; a test holds the two against
each other.
"""

from __future__ import annotations

import torch

from core.config import DecodingConfig
from core.decoding.device_figures import Figures, Tops
from core.decoding.device_round import play
from core.decoding.records import Label, Recorded
from core.decoding.speculative import Round, Sequence
from core.events import Candidate, Origin, Place, TokenOutcome, Verdict
from core.sampling.acceptance import acceptance_probability
from core.sampling.on_device import KeyedDeviceDraws
from core.sampling.summaries import near_tie_tolerance


class DeviceRecorder:
    """Describes rounds of one lane for people.

    Args:
        label: names a token.
        dtype: of the target, which decides what a near tie is.
        plain: the lane decodes plainly, so its tokens are PLAIN, not BONUS.
    """

    def __init__(self, label: Label, dtype: str, *, plain: bool) -> None:
        self._label, self._dtype = label, dtype
        self._last_origin = Origin.PLAIN if plain else Origin.BONUS

    def places(self, played: Round, figures: Figures) -> tuple[Place, ...]:
        """Return the record of each proposal of the round."""
        refused = played.last is not None and played.accepted < len(figures.ids)
        tested = played.accepted + refused
        return tuple(
            self._judged(played, figures, place)
            if place < tested
            else self._discarded(figures, place)
            for place in range(len(figures.ids))
        )

    def _discarded(self, figures: Figures, place: int) -> Place:
        return Place(
            index=place + 1,
            token_id=figures.ids[place],
            text=self._label(figures.ids[place]),
            verdict=Verdict.DISCARDED,
            draft_probability=figures.spreads[place].of_draft,
        )

    def _judged(self, played: Round, figures: Figures, place: int) -> Place:
        spread, token_id = figures.spreads[place], figures.ids[place]
        accepted = place < played.accepted
        choices, uniforms = figures.choices, figures.uniforms
        return Place(
            index=place + 1,
            token_id=token_id,
            text=self._label(token_id),
            verdict=Verdict.ACCEPTED if accepted else Verdict.REFUSED,
            draft_probability=spread.of_draft,
            target_probability=spread.of_target,
            uniform=uniforms[place] if uniforms else None,
            acceptance_probability=acceptance_probability(
                spread.of_draft, spread.of_target
            ),
            overlap=spread.overlap,
            product=spread.product,
            shared_noise_agrees=spread.agrees,
            target_choice=self._label(choices[place].token_id) if choices else None,
            draft_top=self._top(figures.draft_top[place]),
            target_top=self._top(figures.target_top[place]),
            residual_top=self._top(figures.residual_top[place]),
        )

    def _top(self, best: Tops) -> tuple[Candidate, ...]:
        return tuple(Candidate(i, self._label(i), p) for i, p in best)

    def tokens(
        self,
        played: Round,
        figures: Figures,
        places: tuple[Place, ...],
        settings: DecodingConfig,
    ) -> tuple[TokenOutcome, ...]:
        """Return the record of each committed token."""
        return tuple(
            self._token(
                played, figures, i, places[i] if i < len(places) else None, settings
            )
            for i in range(len(played.tokens))
        )

    def _token(
        self,
        played: Round,
        figures: Figures,
        index: int,
        place: Place | None,
        settings: DecodingConfig,
    ) -> TokenOutcome:
        margin, near_tie = self._margin(figures, index, settings)
        accepted = index < played.accepted
        refused = Origin.RESAMPLED if place else self._last_origin
        of_target = figures.spreads[index].of_target if accepted else figures.of_last
        return TokenOutcome(
            token_id=played.tokens[index],
            text=played.pieces[index],
            origin=Origin.ACCEPTED if accepted else refused,
            target_probability=of_target,
            draft_probability=place.draft_probability if place else None,
            acceptance_probability=place.acceptance_probability if place else None,
            place=place.index if place else None,
            target_top=() if place else self._top(figures.target_top[index]),
            margin=margin,
            near_tie=near_tie,
        )

    def _margin(
        self, figures: Figures, index: int, settings: DecodingConfig
    ) -> tuple[float | None, bool]:
        """Return the gap of the scores that chose a token, and whether it is rounding.

        Logits at temperature 0, log-probability plus noise where the target's own
        stream chose. Under the maximal rule an accepted or resampled token has none.
        """
        best, *others = figures.best_scores[index]
        tolerance = near_tie_tolerance(best, self._dtype)
        if settings.temperature == 0:
            gap = best - others[0] if others else None
        else:
            gap = _noise_margin(figures, index)
            tolerance /= settings.temperature
        if gap is None or gap == float("inf"):
            return None, False
        return gap, gap <= tolerance


def _noise_margin(figures: Figures, index: int) -> float | None:
    if figures.choices:
        return figures.choices[index].margin
    return figures.last.margin if index == len(figures.ids) else None


class DeviceRounds:
    """Plays one lane's rounds on a device and records them.

    Args:
        device: of the target.
        seed: of the run.
        recorder: describes the rounds.
    """

    def __init__(self, device: str, seed: int, recorder: DeviceRecorder) -> None:
        self._device, self._recorder = torch.device(device), recorder
        self._draws = KeyedDeviceDraws(seed, self._device)

    def play(self, sequence: Sequence, settings: DecodingConfig) -> Recorded:
        """Play a round; see :func:`core.decoding.device_round.play`."""
        done = play(sequence, settings, self._draws, self._device)
        places = self._recorder.places(done.played, done.figures)
        tokens = self._recorder.tokens(done.played, done.figures, places, settings)
        return Recorded(done.played, places, tokens, done.laps_ms)
