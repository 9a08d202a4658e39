"""All that Python learns of a round on a device: one tensor, read once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from core.config import DecodingConfig
from core.sampling import acceptance, distributions
from core.sampling.draws import Choice, exponential_race
from core.sampling.kernels import TOP
from core.sampling.on_device import Drawn, KeyedDeviceDraws
from core.sampling.streams import Purpose

Tops = tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class Rows:
    """The distributions of a round.

    Attributes:
        ids: [K] proposed tokens.
        draft: [K, V] distributions that they were drawn from.
        target: [K + 1, V] target distributions.
        scores: [K + 1, V] target logits behind them.
        draft_scores: [K, V or fewer] draft logits; None for certain tokens.
    """

    ids: Tensor
    draft: Tensor
    target: Tensor
    scores: Tensor
    draft_scores: Tensor | None

    @property
    def of_draft(self) -> Tensor:
        """[K] draft probability of each proposed token."""
        return self.draft.gather(-1, self.ids[:, None])[:, 0]

    @property
    def of_target(self) -> Tensor:
        """[K] target probability of each proposed token."""
        return self.target[:-1].gather(-1, self.ids[:, None])[:, 0]


@dataclass(frozen=True, slots=True)
class Answers:
    """What the rule decided, still on the device.

    Attributes:
        survivors: [1] proposals before the first refusal.
        last: one token, drawn after them.
        uniforms: [K] u of each place; None where none is drawn.
        choices: the target's own at all K + 1 places; None under the maximal rule.
    """

    survivors: Tensor
    last: Drawn
    uniforms: Tensor | None = None
    choices: Drawn | None = None


@dataclass(frozen=True, slots=True)
class Spread:
    """How draft and target compare at one place; see ``summaries.compare``."""

    of_draft: float
    of_target: float
    overlap: float
    product: float
    agrees: bool


@dataclass(frozen=True, slots=True)
class Figures:
    """What was read of a round with K proposals.

    Attributes:
        ids: the K proposals.
        survivors: how many stand.
        last: the token after them.
        of_last: its target probability.
        uniforms: u of all K places; empty where none is drawn.
        choices: the target's own at all K + 1 places; empty under the maximal rule.
        spreads: of the K places.
        draft_top: the best of the K draft rows; unwarped at temperature 0.
        target_top: the best of the K + 1 target rows, likewise.
        residual_top: the best of the K residuals of these.
        best_scores: the two best logits of the K + 1 target rows.
        target_finite: all target rows are numbers.
        draft_finite: all draft rows are numbers.
    """

    ids: tuple[int, ...]
    survivors: int
    last: Choice
    of_last: float
    uniforms: tuple[float, ...]
    choices: tuple[Choice, ...]
    spreads: tuple[Spread, ...]
    draft_top: tuple[Tops, ...]
    target_top: tuple[Tops, ...]
    residual_top: tuple[Tops, ...]
    best_scores: tuple[tuple[float, ...], ...]
    target_finite: bool
    draft_finite: bool

    @property
    def tested(self) -> int:
        """Proposals that were judged, if the run does not end before."""
        return min(self.survivors + 1, len(self.ids))


class Queued:
    """Named tensors that will be read in one transfer."""

    def __init__(self, tensors: Mapping[str, Tensor]) -> None:
        self._shapes = {name: t.shape for name, t in tensors.items()}
        # Ids and flags are exact in float64, and so is every float32.
        self._packed = torch.cat([t.reshape(-1).double() for t in tensors.values()])

    def read(self) -> Figures:
        """Wait for the device and return what it found."""
        numbers, found, at = self._packed.cpu().numpy(), {}, 0
        for name, shape in self._shapes.items():
            found[name] = numbers[at : at + shape.numel()].reshape(shape)
            at += shape.numel()
        return _figures(found)


def queue_figures(
    rows: Rows, answers: Answers, position: int, settings: DecodingConfig
) -> Queued:
    """Queue all that the record of a round says.

    Args:
        rows: the round's distributions.
        answers: what the rule decided.
        position: index of the first output token.
        settings: of the round.
    """
    of_last = rows.target[answers.survivors].gather(-1, answers.last.ids[:, None])
    tensors = {
        "ids": rows.ids,
        "survivors": answers.survivors,
        "last": _pairs(answers.last),
        "of_last": of_last,
        "finite": torch.stack([_finite(rows.scores), _finite(rows.draft_scores)])
        if rows.draft_scores is not None
        else _finite(rows.scores)[None],
        "spreads": _spreads(rows, answers, position, settings),
        "best_scores": rows.scores.topk(min(2, rows.scores.shape[-1]), -1).values,
        **_tops(rows, settings),
    }
    if answers.uniforms is not None:
        tensors["uniforms"] = answers.uniforms
    if answers.choices is not None:
        tensors["choices"] = _pairs(answers.choices)
    return Queued(tensors)


def _finite(scores: Tensor) -> Tensor:
    return torch.isfinite(scores.amax(-1)).all()


def _pairs(drawn: Drawn) -> Tensor:
    return torch.stack([drawn.ids.double(), drawn.margins], -1)  # [n, 2]


def _spreads(
    rows: Rows, answers: Answers, position: int, settings: DecodingConfig
) -> Tensor:
    """Return [K, 5]: what :class:`Spread` holds of each place."""
    draft, target = rows.draft, rows.target[:-1]  # [K, V]
    overlap = torch.minimum(draft, target).double().sum(-1)
    product = (draft.double() * target.double()).sum(-1)
    agrees = _agree(rows, answers, position, settings)
    columns = (rows.of_draft, rows.of_target, overlap, product, agrees)
    return torch.stack([c.double() for c in columns], -1)


def _agree(
    rows: Rows, answers: Answers, position: int, settings: DecodingConfig
) -> Tensor:
    """Return [K] whether the target's noise picks one token from both rows."""
    if settings.temperature == 0 or len(rows.draft) == 0:
        return rows.draft.argmax(-1) == rows.target[:-1].argmax(-1)
    chance = KeyedDeviceDraws(settings.seed, rows.target.device)
    keys = chance.keys(Purpose.TARGET, position, len(rows.draft))  # [K]
    of_draft = exponential_race(rows.draft, keys)[0]
    return of_draft == exponential_race(rows.target[:-1], keys)[0]


def _tops(rows: Rows, settings: DecodingConfig) -> dict[str, Tensor]:
    """Return the best ids and probabilities of all rows; unwarped at temperature 0."""
    draft, target = rows.draft, rows.target
    if settings.temperature == 0:
        target = rows.scores.softmax(-1)
        if rows.draft_scores is not None:
            soft = rows.draft_scores.softmax(-1)
            draft = distributions.fit_width(soft, target.shape[-1])
    residual = acceptance.residual_distribution(draft, target[:-1])
    every = {"draft_top": draft, "target_top": target, "residual_top": residual}
    return {name: _top(row) for name, row in every.items()}


def _top(rows: Tensor) -> Tensor:
    count = min(TOP, rows.shape[-1])
    if len(rows) == 0:  # nothing was proposed, and a GPU may refuse to look
        return rows.new_zeros(0, count, 2, dtype=torch.float64)
    best = rows.topk(count, -1)
    return torch.stack([best.indices.double(), best.values.double()], -1)  # [n, 8, 2]


def _figures(found: Mapping[str, np.ndarray]) -> Figures:
    def choices(name: str) -> tuple[Choice, ...]:
        pairs = found[name].tolist() if name in found else ()
        return tuple(Choice(int(i), margin) for i, margin in pairs)

    def tops(name: str) -> tuple[Tops, ...]:
        return tuple(
            tuple((int(i), p) for i, p in row if p > 0) for row in found[name].tolist()
        )

    finite = found["finite"]
    return Figures(
        ids=tuple(int(i) for i in found["ids"]),
        survivors=int(found["survivors"][0]),
        last=choices("last")[0],
        of_last=float(found["of_last"][0, 0]),
        uniforms=tuple(found["uniforms"].tolist()) if "uniforms" in found else (),
        choices=choices("choices"),
        spreads=tuple(
            Spread(*numbers, agrees=bool(agrees))
            for *numbers, agrees in found["spreads"].tolist()
        ),
        draft_top=tops("draft_top"),
        target_top=tops("target_top"),
        residual_top=tops("residual_top"),
        best_scores=tuple(map(tuple, found["best_scores"].tolist())),
        target_finite=bool(finite[0]),
        draft_finite=bool(finite[-1]) if len(finite) > 1 else True,
    )
