"""An output head cut to a few ids: a draft computes no more than it may propose."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from core.events import ModelFacts
from core.runtime.runner import Model, Runner
from core.sampling.distributions import spread


def can_slice(module: PreTrainedModel) -> bool:
    """Return whether the head is a plain matrix (a quantized one is not)."""
    return type(module.get_output_embeddings()) is nn.Linear


def slice_head(module: PreTrainedModel, ids: Sequence[int]) -> None:
    """Keep the rows of ``ids`` of the head; logit i becomes that of ``ids[i]``.

    A head that shares its matrix with the embedding gets one of its own; the embedding
    stays whole.
    """
    whole = module.get_output_embeddings()
    assert isinstance(whole, nn.Linear)
    places = torch.tensor(list(ids), device=whole.weight.device)
    sliced = nn.Linear(whole.in_features, len(ids), bias=False, device="meta")
    sliced.weight = _rows(whole.weight, places)
    if whole.bias is not None:
        sliced.bias = _rows(whole.bias, places)
    module.config.tie_word_embeddings = False  # or tying would bring the rows back
    module.set_output_embeddings(sliced)


def _rows(parameter: Tensor, places: Tensor) -> nn.Parameter:
    return nn.Parameter(parameter.detach()[places].contiguous(), requires_grad=False)


class WholeRows:
    """A model with a sliced head, whose rows are as wide as the vocabulary.

    For those who look logits up by token id; the ids without a row have -inf.

    Args:
        model: the sliced one.
        ids: what its logits stand for.
    """

    def __init__(self, model: Model, ids: Sequence[int]) -> None:
        self._model = model
        self._places = torch.tensor(list(ids), device=model.facts.device)

    @property
    def facts(self) -> ModelFacts:
        """The model's own."""
        return self._model.facts

    def new_runner(self, capacity: int) -> Runner:
        """Return a runner whose rows are whole."""
        return _WholeRowsRunner(self, self._model.new_runner(capacity))

    def cache_bytes(self, capacity: int) -> int:
        """Return what the model's own runner takes."""
        return self._model.cache_bytes(capacity)

    def widen(self, rows: Tensor) -> Tensor:
        """Return [n, V] of the model's own rows."""
        return spread(rows, self._places, self.facts.vocabulary_size, -torch.inf)


class _WholeRowsRunner:
    def __init__(self, model: WholeRows, runner: Runner) -> None:
        self._model, self._runner = model, runner

    @property
    def length(self) -> int:
        return self._runner.length

    @property
    def capacity(self) -> int:
        return self._runner.capacity

    def prefill(
        self, ids: Sequence[int], on_chunk: Callable[[int], bool] = lambda done: True
    ) -> bool:
        return self._runner.prefill(ids, on_chunk)

    def step(self, ids: Sequence[int] | Tensor) -> Tensor:
        return self._model.widen(self._runner.step(ids))

    def truncate(self, length: int) -> None:
        self._runner.truncate(length)
