"""A model whose logits are written down: what the law is computed from exactly.

The runner answers from the tokens that its cache really holds. A rollback that was
forgotten, a row read off by one or logits kept beyond their call therefore change the
output, as they would with a real model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from core.config import DecodingConfig
from core.decoding.detokenizer import Detokenizer
from core.decoding.ending import Ending, Limits
from core.decoding.speculative import Sequence as RoundSequence
from core.drafters.draft_model import DraftModel
from core.events import ModelFacts
from core.runtime.runner import numbers

Logits = Callable[[tuple[int, ...]], Tensor]


def table_facts(
    vocabulary: int,
    *,
    context_length: int = 4096,
    name: str = "table",
    dtype: torch.dtype = torch.float64,
) -> ModelFacts:
    """Return the facts of a table of ``vocabulary`` ids."""
    return ModelFacts(
        name=name,
        reference=name,
        num_parameters=0,
        num_layers=0,
        vocabulary_size=vocabulary,
        context_length=context_length,
        device="cpu",
        dtype=str(dtype).removeprefix("torch."),
        memory_bytes=0,
        row_invariant=True,
    )


class TableModel:
    """Logits as a function of the whole prefix.

    Args:
        logits: returns [V] scores of the token after a prefix; asked once a prefix.
        facts: what the model says that it is.
    """

    def __init__(self, logits: Logits, facts: ModelFacts) -> None:
        self._logits = logits
        self._facts = facts
        self._known: dict[tuple[int, ...], Tensor] = {}

    @property
    def facts(self) -> ModelFacts:
        """What the model is."""
        return self._facts

    def row(self, prefix: tuple[int, ...]) -> Tensor:
        """Return [V] logits of the token after ``prefix``."""
        if prefix not in self._known:
            self._known[prefix] = self._logits(prefix)
        return self._known[prefix]

    def new_runner(self, capacity: int) -> TableRunner:
        """Return a runner with an empty cache for ``capacity`` tokens."""
        return TableRunner(self, capacity)

    def cache_bytes(self, capacity: int) -> int:
        """Return 0: there is nothing to hold."""
        return 0

    def __deepcopy__(self, memo: dict[int, Any]) -> TableModel:
        """Return itself: weights are shared."""
        return self


class TableRunner:
    """One sequence over a :class:`TableModel`.

    Attributes:
        held: the tokens in the cache.
    """

    def __init__(self, model: TableModel, capacity: int) -> None:
        self._model = model
        self._capacity = capacity
        self._returned: Tensor | None = None
        self.held: list[int] = []

    @property
    def length(self) -> int:
        """Tokens in the cache."""
        return len(self.held)

    @property
    def capacity(self) -> int:
        """Tokens that the cache can hold."""
        return self._capacity

    def prefill(
        self, ids: Sequence[int], on_chunk: Callable[[int], bool] = lambda done: True
    ) -> bool:
        """Read ``ids`` into the cache, as one chunk."""
        self._spoil()
        self._extend(ids)
        return on_chunk(len(ids)) if ids else True

    def step(self, ids: Sequence[int] | Tensor) -> Tensor:
        """Append ``ids`` and return their [n, V] logits, valid until the next call."""
        ids = numbers(ids)
        assert len(ids) >= 1, "a step takes at least one id"
        self._spoil()
        start = len(self.held)
        self._extend(ids)
        rows = [
            self._model.row(tuple(self.held[: start + i + 1])) for i in range(len(ids))
        ]
        self._returned = torch.stack(rows)
        return self._returned

    def truncate(self, length: int) -> None:
        """Forget all tokens after the first ``length``."""
        assert 0 <= length <= self.length, f"cannot keep {length} of {self.length}"
        del self.held[length:]

    def _extend(self, ids: Sequence[int]) -> None:
        self.held.extend(ids)
        assert self.length <= self._capacity, (
            f"{self.length} tokens in a cache for {self._capacity}"
        )

    def _spoil(self) -> None:
        """Make whoever still holds the last call's logits notice it."""
        if self._returned is not None:
            self._returned.fill_(torch.nan)
            self._returned = None

    def __deepcopy__(self, memo: dict[int, Any]) -> TableRunner:
        """Return a runner that holds the same tokens."""
        twin = TableRunner(self._model, self._capacity)
        twin.held = list(self.held)
        return twin


class NumberTokenizer:
    """Writes each id as its number between spaces, such as `` 0 2 1``."""

    def decode(self, ids: Sequence[int], **options: Any) -> str:
        """Return the numbers; all options are without effect."""
        return "".join(f" {i}" for i in ids)

    def convert_ids_to_tokens(self, token_id: int) -> str:
        """Return the number."""
        return str(token_id)

    def __deepcopy__(self, memo: dict[int, Any]) -> NumberTokenizer:
        """Return itself: it has no state."""
        return self


def table_sequence(
    target: TableModel,
    draft: TableModel | None,
    prompt: Sequence[int],
    settings: DecodingConfig,
    eos_ids: Sequence[int] = (),
) -> RoundSequence:
    """Return what rounds are played on, as it stands after the prefill.

    Args:
        target: the target's table.
        draft: the draft's; None decodes plainly.
        prompt: at least one id.
        settings: of the run.
        eos_ids: end tokens.
    """
    capacity = len(prompt) + settings.max_new_tokens
    detokenizer = Detokenizer(NumberTokenizer(), list(prompt))
    limits = Limits(settings.max_new_tokens, by_context=False)
    sequence = RoundSequence(
        ids=list(prompt),
        prompt_length=len(prompt),
        vocabulary=target.facts.vocabulary_size,
        target=target.new_runner(capacity),
        drafter=DraftModel(draft, capacity) if draft else None,
        ending=Ending(detokenizer, eos_ids, limits, settings),
    )
    sequence.target.prefill(prompt[:-1])
    if sequence.drafter is not None:
        sequence.drafter.prefill(prompt[:-1])
    return sequence
