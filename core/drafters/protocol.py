"""What proposes tokens; the rule never asks which kind it has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from core.config import DecodingConfig
from core.events import ModelFacts
from core.sampling.draws import Draws


@dataclass(frozen=True, slots=True)
class Prefix:
    """The committed tokens that a round starts from.

    Attributes:
        ids: prompt and emitted tokens.
        prompt_length: how many of them are the prompt.
    """

    ids: Sequence[int]
    prompt_length: int

    @property
    def position(self) -> int:
        """Index of the next output token."""
        return len(self.ids) - self.prompt_length


class ProposedRows(Protocol):
    """[K, V] rows, one for each proposal."""

    def __len__(self) -> int:
        """Return K."""
        ...

    def __getitem__(self, place: int, /) -> Tensor:
        """Return the [V] row of one place."""
        ...

    def narrow(self, place: int) -> tuple[Tensor, Tensor | None]:
        """Return [n] numbers of one place and the [n] ids that they stand for.

        None for ids where number i is that of id i; all others have no number.
        """
        ...

    def chance(self, place: int, token_id: int) -> float:
        """Return the number of one token in the row of one place."""
        ...

    def at(self, ids: Sequence[int]) -> Sequence[float]:
        """Return the number of proposal ``ids[i]`` in row i."""
        ...

    def like(self, other: Tensor) -> ProposedRows | Tensor:
        """Return the rows on the device, of the dtype and the width of ``other``."""
        ...

    def whole(self, device: torch.device) -> Tensor:
        """Return the [K, V] rows on ``device``."""
        ...


@dataclass(frozen=True, slots=True)
class Proposal:
    """Proposed tokens and the distribution that each was drawn from.

    Its rows are valid until the same drafter proposes again.

    Attributes:
        ids: K token ids, K may be 0.
        distributions: [K, V] probabilities on the drafter's device; None when the
            tokens are certain (a deterministic drafter), which the rule treats as all
            mass on the proposed token.
        scores: [K, V] logits behind certain tokens, for those who look on; None where
            a drafter has none, or where the distributions say as much.
    """

    ids: tuple[int, ...] = ()
    distributions: ProposedRows | Tensor | None = None
    scores: ProposedRows | Tensor | None = None


class Drafter(Protocol):
    """A proposer with a memory of its own for one sequence."""

    @property
    def facts(self) -> ModelFacts:
        """What it is."""
        ...

    def prefill(
        self, ids: Sequence[int], on_chunk: Callable[[int], bool] = lambda done: True
    ) -> bool:
        """Read the prompt but its last token; False when ``on_chunk`` stopped it."""
        ...

    def room(self, length: int) -> int:
        """Return how many tokens it can propose after ``length`` committed ones."""
        ...

    def propose(
        self, prefix: Prefix, lookahead: int, settings: DecodingConfig, draws: Draws
    ) -> Proposal:
        """Propose up to ``lookahead`` tokens after ``prefix``.

        What it missed since its last proposal is caught up on here.
        """
        ...

    def observe(self, num_accepted: int) -> None:
        """Learn how many tokens of the last proposal were accepted."""
        ...

    def truncate(self, length: int) -> None:
        """Forget everything after the first ``length`` tokens."""
        ...
