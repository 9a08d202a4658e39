"""Transformers models whose state cannot be rewound: they decode plainly only.

Mamba and its like fold every token into one state, and hybrids do so in some layers.
The cache is transformers' own here; nothing is ever taken back, which is all that plain
decoding asks for. What a family's ``forward`` does with its state differs from one to
the next; :mod:`core.runtime.stateful_trial` tries a model before it is trusted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel
from transformers.cache_utils import DynamicCache

from core.events import ModelFacts
from core.runtime import threads
from core.runtime.runner import PREFILL_CHUNK, numbers
from core.runtime.transformers_model import no_room

LOOK_EVERY = 16  # tokens read one by one between two looks at Stop; divides a chunk


@dataclass(frozen=True, slots=True)
class Stepping:
    """How to step a model that keeps a state.

    Attributes:
        argument: the name under which ``forward`` takes the state.
        makes_state: the module makes its state itself when it is given none.
        inside: the module keeps a part of the state in its layers, for one runner at a
            time; a pass without a cache clears it.
        keeps_last_logits: it can leave out all logits but the last row's.
        head_rows: rows of logits to return, from the first.
        continues: several tokens at once go on rightly from a state; where not, only
            the first tokens are read together, all others one by one.
    """

    argument: str
    makes_state: bool
    inside: bool
    keeps_last_logits: bool
    head_rows: int
    continues: bool = False


class StatefulModel:
    """Weights of a model that never takes a token back.

    Attributes:
        layer_kind: of the layers that cannot be rewound, for people.
    """

    def __init__(
        self,
        module: PreTrainedModel,
        facts: ModelFacts,
        stepping: Stepping,
        layer_kind: str,
        state_bytes: tuple[int, int],
    ) -> None:
        self.layer_kind = layer_kind
        self._module, self._facts, self._stepping = module, facts, stepping
        self._fixed_bytes, self._bytes_per_token = state_bytes

    @property
    def facts(self) -> ModelFacts:
        """What the model is and where it runs."""
        return self._facts

    def new_runner(self, capacity: int) -> StatefulRunner:
        """Return a runner with an empty state for ``capacity`` tokens."""
        parts = self._module, self._facts, self._stepping
        return StatefulRunner(*parts, capacity, self.cache_bytes)

    def cache_bytes(self, capacity: int) -> int:
        """Return the memory that one runner's state takes at ``capacity`` tokens."""
        return self._fixed_bytes + capacity * self._bytes_per_token


class StatefulRunner:
    """One sequence over a :class:`StatefulModel`.

    Args:
        module: the transformers model.
        facts: of it.
        stepping: how to step it.
        capacity: tokens that fit.
        bytes_at: the memory of the state by tokens, for an error; 0 where unknown.
    """

    def __init__(
        self,
        module: PreTrainedModel,
        facts: ModelFacts,
        stepping: Stepping,
        capacity: int,
        bytes_at: Callable[[int], int] = lambda tokens: 0,
    ) -> None:
        self._module, self._facts, self._stepping = module, facts, stepping
        self._capacity, self._bytes_at = capacity, bytes_at
        self._length = 0
        self._device = next(module.get_input_embeddings().parameters()).device
        self._state = None if stepping.makes_state else _fresh(module)

    @property
    def length(self) -> int:
        """Tokens in the state."""
        return self._length

    @property
    def capacity(self) -> int:
        """Tokens that the state can hold."""
        return self._capacity

    def prefill(
        self, ids: Sequence[int], on_chunk: Callable[[int], bool] = lambda done: True
    ) -> bool:
        """Read ``ids`` into the state; see :class:`core.runtime.runner.Runner`.

        Where tokens are read one by one, ``on_chunk`` is called more often.
        """
        read = 0
        for start in range(0, len(ids), PREFILL_CHUNK):
            for part in self._parts(ids[start : start + PREFILL_CHUNK]):
                self._forward(part, last_only=True)
                read += len(part)
                due = read % LOOK_EVERY == 0 or read == len(ids)
                if due and not on_chunk(read):
                    return False
        return True

    def step(self, ids: Sequence[int] | Tensor) -> Tensor:
        """Append ``ids`` and return their [n, V] float32 logits."""
        ids = numbers(ids)
        rows = [self._forward(part, last_only=False) for part in self._parts(ids)]
        return torch.cat(rows)[:, : self._stepping.head_rows].float()

    def truncate(self, length: int) -> None:
        """Take nothing back: ``length`` must be what has been read."""
        assert length == self._length, f"{self._facts.name} cannot be rewound"

    def state_bytes(self) -> int:
        """Return the memory that the state takes now."""
        return _tensor_bytes(self._state, set())

    def _parts(self, ids: Sequence[int]) -> Iterator[Sequence[int]]:
        if self._length == 0 or self._stepping.continues:
            yield ids
        else:
            yield from ([i] for i in ids)

    @torch.inference_mode()
    def _forward(self, ids: Sequence[int], last_only: bool) -> Tensor:
        end = self._length + len(ids)
        assert end <= self._capacity, f"{end} tokens in a state for {self._capacity}"
        if self._length == 0 and self._stepping.inside:
            self._call(ids[:1], {"use_cache": False})
        options: dict[str, Any] = {"use_cache": True}
        options |= {self._stepping.argument: self._state}
        if last_only and self._stepping.keeps_last_logits:
            options["logits_to_keep"] = 1
        output = self._call(ids, options)
        self._length = end
        # Some change the state where it lies and do not return it.
        returned = getattr(output, self._stepping.argument, None)
        self._state = self._state if returned is None else returned
        return output.logits[0]  # [n or 1, V]

    def _call(self, ids: Sequence[int], options: dict[str, Any]) -> Any:
        tokens = torch.tensor([list(ids)], device=self._device)  # [1, n]
        threads.torch_on_all_cores()
        try:
            return self._module(input_ids=tokens, **options)
        except torch.OutOfMemoryError as error:  # it grows as the text does
            end = self._length + len(ids)
            needed = max(self._bytes_at(end), self.state_bytes())
            raise no_room(self._facts, end, needed) from error
        finally:
            threads.torch_alone()


def _fresh(module: PreTrainedModel) -> DynamicCache:
    return DynamicCache(config=module.config.get_text_config(decoder=True))


def _tensor_bytes(value: Any, seen: set[int]) -> int:
    """Return the bytes of all tensors inside ``value``, each counted once."""
    if id(value) in seen:
        return 0
    seen.add(id(value))
    if isinstance(value, Tensor):
        return value.numel() * value.element_size()
    if isinstance(value, dict):
        parts: Any = value.values()
    elif isinstance(value, list | tuple):
        parts = value
    else:
        parts = getattr(value, "__dict__", {}).values()
    return sum(_tensor_bytes(part, seen) for part in parts)
