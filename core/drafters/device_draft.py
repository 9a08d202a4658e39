"""A draft model whose proposals never leave the device before the round is decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from core.config import Coupling, DecodingConfig
from core.drafters.protocol import Prefix
from core.runtime.runner import Runner
from core.sampling import on_device
from core.sampling.distributions import spread
from core.sampling.on_device import DeviceDraws
from core.sampling.streams import Purpose

STEP_LIMIT = 16  # a longer gap is caught up with as a prefill


@dataclass(frozen=True, slots=True)
class DeviceProposal:
    """Proposed tokens and the distribution that each was drawn from.

    Attributes:
        ids: [K] int64.
        distributions: [K, V or fewer] probabilities; None for certain tokens.
        scores: [K, V or fewer] logits behind them; None for certain tokens.
    """

    ids: Tensor
    distributions: Tensor | None = None
    scores: Tensor | None = None


class DeviceDraft:
    """Proposes like :class:`core.drafters.draft_model.DraftModel`, over its runner.

    Penalties are not for it: they need every token's number in Python.

    Args:
        runner: the draft's, which stays the drafter's to roll back.
        device: where it runs.
        known: ids that the draft has an embedding for.
        vocabulary: V, ids of the target's tokenizer.
        head_ids: the ids that its logits stand for, where its head is sliced.
    """

    def __init__(
        self,
        runner: Runner,
        device: str,
        known: int,
        vocabulary: int,
        head_ids: Sequence[int] | None,
    ) -> None:
        self._runner, self._known, self._vocabulary = runner, known, vocabulary
        self._head_ids = None
        self._width = vocabulary
        if head_ids is not None:
            self._head_ids = on_device.send(list(head_ids), torch.device(device))
            self._width = len(head_ids)

    def propose(
        self,
        prefix: Prefix,
        lookahead: int,
        settings: DecodingConfig,
        draws: DeviceDraws,
    ) -> DeviceProposal:
        """Queue ``lookahead`` steps, each over the token that the last one drew."""
        ids, laws, scores = [], [], []
        row = self._catch_up(prefix.ids)  # [1, width]
        for place in range(lookahead):
            if place:
                row = self._step(ids[-1])
            scores.append(row.clone())  # the runner writes over its logits
            laws.append(on_device.warp(scores[-1], settings))
            position = prefix.position + place
            ids.append(self._draw(laws[-1], position, settings, draws))  # [1]
        return DeviceProposal(
            torch.cat(ids),
            self._whole(torch.cat(laws), 0.0),
            self._whole(torch.cat(scores), -torch.inf),
        )

    def _draw(
        self, law: Tensor, position: int, settings: DecodingConfig, draws: DeviceDraws
    ) -> Tensor:
        shared = settings.coupling is Coupling.SHARED_NOISE
        if settings.temperature == 0:
            return self._id_of(law.argmax(-1))
        if shared:  # noise shared with the target goes by token id
            return draws.choose(Purpose.TARGET, position, self._whole(law, 0.0)).ids
        return self._id_of(draws.choose(Purpose.DRAFT, position, law).ids)

    def _id_of(self, places: Tensor) -> Tensor:
        return places if self._head_ids is None else self._head_ids[places]

    def _whole(self, rows: Tensor, rest: float) -> Tensor:
        if self._head_ids is None:
            return rows
        return spread(rows, self._head_ids, self._vocabulary, rest)

    def _catch_up(self, committed: Sequence[int]) -> Tensor:
        """Feed what the cache misses; return the row after the last token."""
        missed = [i if i < self._known else 0 for i in committed[self._runner.length :]]
        if len(missed) > STEP_LIMIT:
            self._runner.prefill(missed[:-1])
            missed = missed[-1:]
        return self._runner.step(missed)[-1:, : self._width]

    def _step(self, ids: Tensor) -> Tensor:
        readable = ids.masked_fill(ids >= self._known, 0)
        return self._runner.step(readable)[:, : self._width]
