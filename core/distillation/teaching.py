"""Building the student from collected texts, and teaching it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from core.distillation.acceptance import Judgement, judge
from core.distillation.lessons import Lesson, id_weights
from core.distillation.source import Source
from core.distillation.student import (
    Student,
    StudentShape,
    frequent_ids,
    projected_embeddings,
)
from core.distillation.training import Teacher, TrainingReport, TrainingSettings
from core.runtime import threads

_HEAD, _STATE = "head.json", "state.pt"


@dataclass(frozen=True, slots=True)
class Beginnings:
    """What a student is made from, so that the target itself can leave the memory.

    Attributes:
        embeddings: [V, hidden] projected from the target's.
        config: the target's configuration.
        eos_ids: ids that must be in the head.
        vocabulary_size: ids that may be in the head.
        device: where it is taught.
    """

    embeddings: Tensor
    config: Any
    eos_ids: tuple[int, ...]
    vocabulary_size: int
    device: str


def beginnings(source: Source, shape: StudentShape) -> Beginnings:
    """Take from the target what its student starts with."""
    return Beginnings(
        projected_embeddings(source.embeddings(), shape.hidden),
        source.config,
        source.eos_ids,
        source.vocabulary_size,
        str(source.module.device),
    )


class Teaching:
    """A student that is taught over one or several sittings.

    Args:
        start: what it is made from.
        shape: its size.
        taught: texts to learn from.
        held_out: texts to judge by.
        settings: how it is taught.
        folder: where its state lies.

    Attributes:
        student: as far as it is.
        judgement: the best that was seen; None before the first look.
        steps: done in this sitting.
    """

    def __init__(
        self,
        start: Beginnings,
        shape: StudentShape,
        taught: Sequence[Lesson],
        held_out: Sequence[Lesson],
        settings: TrainingSettings,
        folder: Path,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        head = _head_ids(folder / _HEAD, start, shape, taught)
        seed = settings.seed
        student = Student(shape, start.embeddings, head, start.config, seed)
        self.student = student.to(start.device)
        self.steps = 0
        self.judgement: Judgement | None = None
        self._held_out = held_out
        self._teacher = Teacher(
            self.student, taught, held_out, settings, folder / _STATE
        )

    def teach(self, should_stop: Callable[[], bool]) -> Iterator[TrainingReport]:
        """Yield a report after every step; the student ends as the best one seen."""
        threads.torch_on_all_cores()
        for report in self._teacher.teach(should_stop):
            self.steps += 1
            yield report
        if self._held_out:
            self.judgement = judge(self.student, self._held_out)


def _head_ids(
    file: Path, start: Beginnings, shape: StudentShape, taught: Sequence[Lesson]
) -> Tensor:
    """Return the ids that have logits: chosen once, as the weights belong to them."""
    if not file.is_file():
        weights = id_weights(taught, len(start.embeddings))[: start.vocabulary_size]
        found = frequent_ids(weights, shape.head_rows, start.eos_ids)
        file.write_text(json.dumps(found.tolist()), encoding="utf-8")
    return torch.tensor(json.loads(file.read_text(encoding="utf-8")))
