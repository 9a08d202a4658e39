"""Collected texts as batches of equally long rows for the student."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

import torch
from torch import Tensor

from core.distillation.collecting import Texts
from core.distillation.losses import Places

_WINDOW = 512  # texts that are sorted by length together


@dataclass(frozen=True, slots=True)
class Lesson:
    """One text with the target's law at each of its own tokens.

    Attributes:
        prompt: index of its prompt in the library.
        temperature: that it was drawn at.
        start: ids of the prompt.
        ids: [start + n] prompt and continuation.
        top_ids: [n, kept].
        top_log_probs: [n, kept].
    """

    prompt: int
    temperature: float
    start: int
    ids: Tensor
    top_ids: Tensor
    top_log_probs: Tensor

    @property
    def num_tokens(self) -> int:
        """Tokens that the target wrote."""
        return len(self.top_ids)


def lessons(texts: Iterable[Texts]) -> list[Lesson]:
    """Return the texts one by one; what the batches share stays shared."""
    return [
        Lesson(
            prompt=int(batch.prompts[row]),
            temperature=float(batch.temperatures[row]),
            start=batch.prompt_length,
            ids=batch.ids[row, : batch.prompt_length + length],
            top_ids=batch.top_ids[row, :length],
            top_log_probs=batch.top_log_probs[row, :length],
        )
        for batch in texts
        for row, length in enumerate(batch.lengths.tolist())
        if length
    ]


def batches(taught: Sequence[Lesson], tokens: int, seed: int) -> Iterator[list[Lesson]]:
    """Yield all lessons once, in batches of about equal lengths.

    Args:
        taught: the lessons.
        tokens: ids of a batch, padding included, at most (one text may be longer).
        seed: of the order.
    """
    random = Random(seed)
    order = random.sample(range(len(taught)), len(taught))
    groups: list[list[Lesson]] = []
    for start in range(0, len(order), _WINDOW):
        window = [taught[i] for i in order[start : start + _WINDOW]]
        groups += _groups(sorted(window, key=lambda x: len(x.ids)), tokens)
    random.shuffle(groups)
    yield from groups


def _groups(ascending: list[Lesson], tokens: int) -> list[list[Lesson]]:
    groups: list[list[Lesson]] = [[]]
    for lesson in ascending:
        if groups[-1] and (len(groups[-1]) + 1) * len(lesson.ids) > tokens:
            groups.append([])
        groups[-1].append(lesson)
    return groups


def padded(group: Sequence[Lesson]) -> Tensor:
    """Return [rows, longest] ids, 0 behind the ends: causal attention never sees it."""
    return torch.nn.utils.rnn.pad_sequence(
        [lesson.ids.long() for lesson in group], batch_first=True
    )


def states_at_places(states: Tensor, group: Sequence[Lesson]) -> Tensor:
    """Return [n, hidden]: the states that the texts' own tokens were predicted from."""
    return torch.cat(
        [
            row[x.start - 1 : len(x.ids) - 1]
            for row, x in zip(states, group, strict=True)
        ]
    )


def places(group: Sequence[Lesson], head_places: Tensor) -> Places:
    """Return the target's law at the texts' own tokens.

    Args:
        group: the texts.
        head_places: [V] where an id stands in the student's head; -1 where nowhere.
    """
    ids = torch.cat([x.top_ids for x in group]).long()
    log_probs = torch.cat([x.top_log_probs for x in group])
    return Places(head_places[ids], log_probs.float().exp())


def id_weights(taught: Iterable[Lesson], vocabulary: int) -> Tensor:
    """Return [V] expected occurrences of each id by the target's own law."""
    weights = torch.zeros(vocabulary, dtype=torch.float64)
    for lesson in taught:
        ids = lesson.top_ids.flatten().long()
        weights.index_add_(0, ids, lesson.top_log_probs.flatten().double().exp())
    return weights
