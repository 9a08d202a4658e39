"""Many seeded runs through the real round loop at the price of a few.

Rounds with the same history compute the same; only chance tells seeds apart. So a round
is played once for all seeds that got there, each question to chance is asked of every
seed's own :class:`KeyedDraws`, and where their answers differ the round is played again
for each answer. Each seed ends with the very tokens that it would have alone.
"""

from __future__ import annotations

import copy
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from core.config import DecodingConfig
from core.decoding import speculative
from core.decoding.speculative import Sequence as RoundSequence
from core.lab.enumeration import check_round_start
from core.sampling.draws import Choice, KeyedDraws
from core.sampling.streams import Purpose

Seeds = list[KeyedDraws]


class SharedDraws:
    """Follows the answers so far, then that of the first seed; the others wait.

    Attributes:
        seeds: those whose answers are all those given.
        waiting: other answers that came up, and whose they are.
    """

    def __init__(self, seeds: Seeds, answers: Sequence[Any] = ()) -> None:
        self.seeds = seeds
        self.waiting: list[SharedDraws] = []
        self._answers, self._next = list(answers), 0

    def choose(self, purpose: Purpose, position: int, weights: Tensor) -> Choice:
        return self._answer(
            lambda draws: draws.choose(purpose, position, weights).token_id,
            lambda token_id: Choice(token_id, 0.0),
        )

    def survivors(
        self, position: int, draft: Sequence[float], target: Sequence[float]
    ) -> tuple[int, tuple[float, ...]]:
        return self._answer(
            lambda draws: draws.survivors(position, draft, target)[0],
            lambda count: (count, (0.0,) * min(count + 1, len(draft))),
        )

    def _answer(self, ask: Callable[[KeyedDraws], int], tell: Callable) -> Any:
        if self._next == len(self._answers):
            self._split(ask)
        self._next += 1
        return tell(self._answers[self._next - 1])

    def _split(self, ask: Callable[[KeyedDraws], int]) -> None:
        groups: dict[int, Seeds] = defaultdict(list)
        for seed in self.seeds:
            groups[ask(seed)].append(seed)
        (first, self.seeds), *others = groups.items()
        self.waiting += [
            SharedDraws(seeds, [*self._answers, answer]) for answer, seeds in others
        ]
        self._answers.append(first)


@torch.inference_mode()
def outputs(
    sequence: RoundSequence, settings: DecodingConfig, seeds: Sequence[int]
) -> Counter[tuple[int, ...]]:
    """Return how many of ``seeds`` emit which tokens."""
    found: Counter[tuple[int, ...]] = Counter()
    going = [(sequence, [KeyedDraws(seed) for seed in seeds])]
    while going:
        before, members = going.pop()
        if before.ending.reason is not None:
            found[tuple(before.ids[before.prompt_length :])] += len(members)
            continue
        check_round_start(before)
        open_rounds = [SharedDraws(members)]
        while open_rounds:
            draws, after = open_rounds.pop(), copy.deepcopy(before)
            speculative.play_round(after, settings, draws)
            going.append((after, draws.seeds))
            open_rounds += draws.waiting
    return found
