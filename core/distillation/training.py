"""Teaching a student what the target thought of its own tokens (arXiv:2310.08461)."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from core.distillation.acceptance import Judgement, judge
from core.distillation.copying import copying_loss
from core.distillation.head_loss import head_loss
from core.distillation.lessons import (
    Lesson,
    batches,
    padded,
    places,
    states_at_places,
)
from core.distillation.optimizers import Optimizers
from core.distillation.student import Student

LAST_RATE = 0.03  # share of the learning rate that is left at the end
COPYING_UNTIL = 0.5  # of the training, by when showing where to look has fallen
LAST_COPYING = 0.1  # to this share: heads that look where they should are left alone


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """How a student is taught.

    Attributes:
        passes: over all texts, unless the time is up before.
        batch_ids: ids of a batch, padding and prompts included.
        matrix_rate: learning rate of the layers' matrices, at its highest.
        learning_rate: of the head and the norms, at its highest.
        warm_up: share of the training in which they rise.
        weight_decay: of everything but the norms.
        dropped: share of the states that is left out at random.
        variation: weight of total variation in the loss; forward KL has the rest.
        copying: weight, at first, of showing its heads where to look for repetitions.
        seconds: time for teaching; None for no limit.
        judge_every: steps between two looks at the held-out texts.
        patience: looks without a better acceptance after which it ends early.
        seed: of the order of the texts.
    """

    passes: int = 40
    batch_ids: int = 2304
    matrix_rate: float = 0.02
    learning_rate: float = 2e-3
    warm_up: float = 0.03
    weight_decay: float = 0.02
    dropped: float = 0.05
    variation: float = 0.8
    copying: float = 1.0
    seconds: float | None = None
    judge_every: int = 250
    patience: int = 20
    seed: int = 0


@dataclass(frozen=True, slots=True)
class TrainingReport:
    """How the teaching goes.

    Attributes:
        step: batches so far.
        tokens: of the target, read so far, each pass counted.
        progress: 0 to 1.
        loss: mean since the last report.
        judgement: on the held-out texts; None between two looks at them.
        seconds: spent so far.
    """

    step: int
    tokens: int
    progress: float
    loss: float
    judgement: Judgement | None
    seconds: float


@dataclass
class _State:
    """What a training that is taken up again goes on from."""

    step: int = 0
    tokens: int = 0
    seconds: float = 0.0
    best: float = -1.0
    looks_since_best: int = 0
    weights: dict[str, Tensor] = field(default_factory=dict)


class Teacher:
    """Teaches one student; can be stopped and taken up again.

    Args:
        student: what is taught; it lies on the device that computes.
        taught: texts to learn from.
        held_out: texts to judge by, of other prompts.
        settings: how.
        checkpoint: file that keeps the state; None keeps none.
    """

    def __init__(
        self,
        student: Student,
        taught: Sequence[Lesson],
        held_out: Sequence[Lesson],
        settings: TrainingSettings,
        checkpoint: Path | None = None,
    ) -> None:
        self.student, self.settings = student, settings
        self._taught, self._held_out = taught, held_out
        self._checkpoint = checkpoint
        self._state = _State()
        self._optimizers = Optimizers(
            student, settings.matrix_rate, settings.learning_rate, settings.weight_decay
        )
        student.dropped = settings.dropped
        per_pass = sum(1 for _ in batches(taught, settings.batch_ids, 0))
        self._steps = settings.passes * per_pass
        self._per_pass = per_pass
        if checkpoint is not None and checkpoint.exists():
            self._restore(checkpoint)

    def teach(
        self, should_stop: Callable[[], bool] = lambda: False
    ) -> Iterator[TrainingReport]:
        """Yield a report after every step; the student ends as the best that was seen.

        Args:
            should_stop: asked before every step; what was best so far is kept.
        """
        for group in self._remaining():
            if should_stop() or self._progress() >= 1 or self._is_idle():
                break
            yield self._step(group)
        if self._state.weights:
            self.student.load_state_dict(self._state.weights)

    def _remaining(self) -> Iterator[list[Lesson]]:
        """Yield the batches that have not been read yet, pass after pass."""
        done, skip = divmod(self._state.step, self._per_pass)
        for number in range(done, self.settings.passes):
            seed = self.settings.seed * 1000 + number
            for i, group in enumerate(
                batches(self._taught, self.settings.batch_ids, seed)
            ):
                if number > done or i >= skip:
                    yield group

    def _step(self, group: list[Lesson]) -> TrainingReport:
        began, state = time.monotonic(), self._state
        loss, missed = self._losses(group)
        (loss + self._copying() * missed).backward()
        torch.nn.utils.clip_grad_norm_(self.student.parameters(), 1.0)
        self._optimizers.step(self._rate())
        state.step += 1
        state.tokens += sum(x.num_tokens for x in group)
        state.seconds += time.monotonic() - began
        return TrainingReport(
            step=state.step,
            tokens=state.tokens,
            progress=self._progress(),
            loss=float(loss.detach()),
            judgement=self._look() if self._is_time_to_look() else None,
            seconds=state.seconds,
        )

    def _losses(self, group: list[Lesson]) -> tuple[Tensor, Tensor]:
        """Return how far its law is from the target's, and its heads from copying."""
        device = self.student.head.device
        ids, attention = padded(group).to(device), list[Tensor]()
        self.student.train()
        with torch.random.fork_rng():  # what is dropped depends on the step alone
            torch.manual_seed(self.settings.seed * 1_000_003 + self._state.step)
            states = states_at_places(self.student(ids, attention), group)
        known = places(group, self.student.places.cpu()).to(device)
        loss = head_loss(states, self.student.head, known, self.settings.variation)
        lengths = torch.tensor([len(x.ids) for x in group], device=device)
        return loss, copying_loss(ids, lengths, attention)

    def _copying(self) -> float:
        """Return the weight of the copying: it falls along a line, then stays."""
        fallen = min(1.0, self._progress() / COPYING_UNTIL)
        return self.settings.copying * (1 - (1 - LAST_COPYING) * fallen)

    def _rate(self) -> float:
        """Return the share of the learning rate: a rise, then half a cosine."""
        progress, rise = self._progress(), self.settings.warm_up
        if progress < rise:
            return max(progress / rise, 0.01)
        fall = (progress - rise) / (1 - rise)
        return LAST_RATE + (1 - LAST_RATE) * (1 + math.cos(math.pi * fall)) / 2

    def _progress(self) -> float:
        by_steps = self._state.step / max(1, self._steps)
        limit = self.settings.seconds
        return min(1.0, max(by_steps, self._state.seconds / limit if limit else 0.0))

    def _is_time_to_look(self) -> bool:
        step = self._state.step
        return step % self.settings.judge_every == 0 or self._progress() >= 1

    def _is_idle(self) -> bool:
        return self._state.looks_since_best >= self.settings.patience

    def _look(self) -> Judgement:
        """Judge the student, keep it if it is the best, and write the state down."""
        began, state = time.monotonic(), self._state
        judgement = judge(self.student, self._held_out)
        state.looks_since_best += 1
        if judgement.acceptance > state.best:
            state.best, state.looks_since_best = judgement.acceptance, 0
            state.weights = copy.deepcopy(self.student.state_dict())
        state.seconds += time.monotonic() - began
        if self._checkpoint is not None:
            self._save(self._checkpoint)
        return judgement

    def _save(self, path: Path) -> None:
        scratch = path.with_suffix(".part")
        kept: dict[str, Any] = {
            "state": {name: getattr(self._state, name) for name in vars(self._state)},
            "student": self.student.state_dict(),
            "optimizers": self._optimizers.state(),
        }
        torch.save(kept, scratch)
        scratch.replace(path)

    def _restore(self, path: Path) -> None:
        kept = torch.load(path, weights_only=True)
        self._state = _State(**kept["state"])
        self.student.load_state_dict(kept["student"])
        if "optimizers" in kept:  # older versions had but one, of another kind
            self._optimizers.restore(kept["optimizers"])
