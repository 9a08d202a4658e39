"""A second, smaller checkpoint as the drafter (Chen et al. 2023, Algorithm 2)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from core.config import Coupling, DecodingConfig
from core.drafters.device_draft import DeviceDraft
from core.drafters.kept_ids import KeptIds
from core.drafters.kept_rows import KeptRows
from core.drafters.protocol import Prefix, Proposal
from core.events import ModelFacts
from core.runtime.runner import Model
from core.sampling.distributions import (
    best_two,
    has_penalties,
    penalise,
    warp_numbers,
)
from core.sampling.draws import Draws
from core.sampling.row_memory import RowMemory
from core.sampling.streams import Purpose

_STEP_LIMIT = 16  # a longer gap is caught up with as a prefill


class DraftModel:
    """Draws each proposal from its own distribution, given the ones before it.

    A proposal is valid until the next one: its rows are written over.

    Args:
        model: the draft's weights.
        capacity: tokens that a run may reach.
        vocabulary: V, ids of the target's tokenizer; wider rows are cut to it, since
            a draft's head may have more. None takes the draft's own tokenizer's.
        head_ids: the ids that the model's logits stand for, rising, where its head is
            sliced; None where logit i is that of id i.
    """

    def __init__(
        self,
        model: Model,
        capacity: int,
        vocabulary: int | None = None,
        head_ids: Sequence[int] | None = None,
    ) -> None:
        self._model = model
        self._vocabulary = vocabulary or model.facts.vocabulary_size
        self._kept = None
        if head_ids is not None:
            self._kept = KeptIds(head_ids, self._vocabulary, model.facts.device)
        self._laws = KeptRows(self._vocabulary, 0.0, self._kept)
        self._scores = KeptRows(self._vocabulary, -torch.inf, self._kept)
        self._memory = RowMemory()
        self._width = self._kept.count if self._kept else self._vocabulary
        self._runner = model.new_runner(min(capacity, model.facts.context_length))

    @property
    def facts(self) -> ModelFacts:
        """The draft checkpoint's facts."""
        return self._model.facts

    @functools.cached_property
    def on_device(self) -> DeviceDraft:
        """What proposes over the same cache where a device decides the round."""
        facts = self._model.facts
        head_ids = self._kept.ids if self._kept else None
        return DeviceDraft(
            self._runner,
            facts.device,
            facts.vocabulary_size,
            self._vocabulary,
            head_ids,
        )

    def prefill(
        self, ids: Sequence[int], on_chunk: Callable[[int], bool] = lambda done: True
    ) -> bool:
        """Read the prompt as far as the draft's own context reaches."""
        return self._runner.prefill(
            self._readable(ids[: self._runner.capacity]), on_chunk
        )

    def _readable(self, ids: Sequence[int]) -> list[int]:
        """Return the ids with those that the draft has no embedding for put to 0.

        A target may know a few more special tokens. What the draft makes of such a text
        costs acceptance, never exactness: its law is recorded as it was drawn from.
        """
        known = self.facts.vocabulary_size
        return [i if i < known else 0 for i in ids]

    def room(self, length: int) -> int:
        """Return the places left between ``length`` and the end of its context."""
        return max(0, self._runner.capacity - length)

    def propose(
        self, prefix: Prefix, lookahead: int, settings: DecodingConfig, draws: Draws
    ) -> Proposal:
        """Draw ``lookahead`` tokens one by one."""
        if lookahead == 0:
            return Proposal()
        ids, start = list(prefix.ids), len(prefix.ids)
        logits = self._catch_up(prefix.ids)
        self._laws.clear()
        self._scores.clear()
        for place in range(lookahead):
            if place:
                logits = self._step(ids[-1:])
            row = self._penalised(logits, ids, prefix, settings)
            if settings.temperature == 0:
                ids.append(self._best(place, row))
            else:
                position = prefix.position + place
                ids.append(self._drawn(place, row, position, settings, draws))
        proposed = tuple(ids[start:])
        if settings.temperature == 0:
            return Proposal(proposed, None, self._scores)
        return Proposal(proposed, self._laws)

    def _penalised(
        self, logits: Tensor, ids: list[int], prefix: Prefix, settings: DecodingConfig
    ) -> Tensor:
        if self._kept is None or not has_penalties(settings):
            return penalise(logits, ids, prefix.prompt_length, settings)
        wide = self._kept.spread(logits, -torch.inf)  # penalties go by token id
        return self._kept.pick(penalise(wide, ids, prefix.prompt_length, settings))

    def _best(self, place: int, row: Tensor) -> int:
        """Return the best token of one place's scores [V] or [kept], which are kept."""
        # As a copy, since the runner writes over its logits.
        self._scores.append(self._memory.row(place, row).copy_(row))
        return self._id_of(best_two(row, self.facts.name)[0])

    def _drawn(
        self,
        place: int,
        row: Tensor,
        position: int,
        settings: DecodingConfig,
        draws: Draws,
    ) -> int:
        """Return the token of one place, drawn by its scores: [V] or [kept]."""
        memory = self._memory.row(place, row)
        law = warp_numbers(row, settings, self.facts.name, memory)
        self._laws.append(law)
        if settings.coupling is Coupling.SHARED_NOISE:  # it goes by token id
            law = self._laws[place]  # [V]
            return draws.choose(Purpose.TARGET, position, law).token_id
        return self._id_of(draws.choose(Purpose.DRAFT, position, law).token_id)

    def _id_of(self, place: int) -> int:
        return place if self._kept is None else self._kept.ids[place]

    def _catch_up(self, committed: Sequence[int]) -> Tensor:
        """Feed what the cache misses and return the logits after the last token: [V].

        That is one token as a rule, two after a full acceptance (the draft has not seen
        its own last proposal), more after rounds without proposals.
        """
        missed = committed[self._runner.length :]
        if len(missed) > _STEP_LIMIT:
            self._runner.prefill(self._readable(missed[:-1]))
            missed = missed[-1:]
        return self._step(missed)

    def _step(self, ids: Sequence[int]) -> Tensor:
        """Return the logits after the last of ``ids``: [V], or of the kept ids only."""
        return self._runner.step(self._readable(ids))[-1, : self._width]

    def observe(self, num_accepted: int) -> None:
        """Nothing to learn."""

    def truncate(self, length: int) -> None:
        """Roll the cache back to the first ``length`` tokens, if it holds more."""
        self._runner.truncate(min(length, self._runner.length))
