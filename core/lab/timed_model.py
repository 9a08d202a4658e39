"""A model whose passes are timed, to tell a round's overhead from its forwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import Tensor

from core.events import ModelFacts
from core.runtime.clock import Clock
from core.runtime.runner import Model, Runner


class TimedModel:
    """Passes everything through and adds up the time of all steps.

    Attributes:
        step_ms: of all runners that it made.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._clock = Clock(model.facts.device)
        self.step_ms = 0.0

    @property
    def facts(self) -> ModelFacts:
        """The model's own."""
        return self._model.facts

    def new_runner(self, capacity: int) -> Runner:
        """Return a timed runner."""
        return _TimedRunner(self, self._model.new_runner(capacity))

    def cache_bytes(self, capacity: int) -> int:
        """Return what the model's own runner takes."""
        return self._model.cache_bytes(capacity)

    def step(self, runner: Runner, ids: Sequence[int] | Tensor) -> Tensor:
        """Step ``runner`` and add its time."""
        begin = self._clock.now_ms()
        logits = runner.step(ids)
        self.step_ms += self._clock.now_ms() - begin
        return logits


class _TimedRunner:
    def __init__(self, model: TimedModel, runner: Runner) -> None:
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
        return self._model.step(self._runner, ids)

    def truncate(self, length: int) -> None:
        self._runner.truncate(length)
