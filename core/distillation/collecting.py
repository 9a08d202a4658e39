"""The target's own continuations, many at a time, with what it thought of each token.

All sequences of a batch have equally long prompts, so that nothing is padded and one
cache, written in place, serves them all. Beside each token the target's most probable
ones are kept with their log-probabilities: that is what the student learns from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import Any

import torch
from torch import Tensor

from core.distillation.batch_cache import BatchCache
from core.runtime.support import cache_argument

COMPACT_BELOW = 0.75  # share of sequences still growing at which the others are dropped


@dataclass(frozen=True, slots=True)
class CollectingSettings:
    """How texts are drawn.

    Attributes:
        max_new_tokens: the longest continuation.
        rows: sequences that grow together.
        kept: most probable tokens remembered at each place; draws are from these.
        temperatures: each prompt gets one of them by turns.
        seed: of the draws and of who gets which temperature.
    """

    max_new_tokens: int = 192
    rows: int = 128
    kept: int = 32
    temperatures: tuple[float, ...] = (0.0, 1.0, 0.7, 1.0)
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Batch:
    """Prompts of one length that are continued together.

    Attributes:
        index: number of the batch; with the seed it decides all draws.
        prompts: index of each prompt in the library.
        ids: [rows, length] their ids.
        temperatures: of each row.
    """

    index: int
    prompts: tuple[int, ...]
    ids: tuple[tuple[int, ...], ...]
    temperatures: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Texts:
    """What one batch brought.

    Attributes:
        prompts: [rows] index of each prompt in the library.
        temperatures: [rows].
        prompt_length: ids of each prompt.
        ids: [rows, prompt_length + T] prompt and continuation; 0 behind the end.
        lengths: [rows] tokens of each continuation, at most T.
        top_ids: [rows, T, kept] the most probable tokens at each place.
        top_log_probs: [rows, T, kept] natural logarithms at temperature 1.
    """

    prompts: Tensor
    temperatures: Tensor
    prompt_length: int
    ids: Tensor
    lengths: Tensor
    top_ids: Tensor
    top_log_probs: Tensor

    @property
    def num_tokens(self) -> int:
        """Tokens that were drawn."""
        return int(self.lengths.sum())


def plan_batches(
    prompts: Sequence[Sequence[int]], settings: CollectingSettings
) -> Iterator[Batch]:
    """Yield batches without end; every pass over the prompts draws other texts.

    Args:
        prompts: ids of each prompt.
        settings: how many rows a batch has.
    """
    index = 0
    for turn in count():
        for group in _groups(prompts, settings, turn):
            yield _batch(index, turn, group, prompts, settings)
            index += 1


def _groups(
    prompts: Sequence[Sequence[int]], settings: CollectingSettings, turn: int
) -> list[list[int]]:
    """Return indices of equally long prompts, at most a batch of them, shuffled."""
    random = Random(f"{settings.seed}:{turn}")
    by_length: dict[int, list[int]] = {}
    for prompt in random.sample(range(len(prompts)), len(prompts)):
        by_length.setdefault(len(prompts[prompt]), []).append(prompt)
    groups = [
        same[start : start + settings.rows]
        for _, same in sorted(by_length.items())
        for start in range(0, len(same), settings.rows)
    ]
    random.shuffle(groups)
    return groups


def _batch(
    index: int,
    turn: int,
    group: list[int],
    prompts: Sequence[Sequence[int]],
    settings: CollectingSettings,
) -> Batch:
    """Return a batch in which a small group's prompts come at several temperatures."""
    choices = settings.temperatures
    rows = min(settings.rows, len(group) * len(choices))
    chosen = [group[i % len(group)] for i in range(rows)]
    return Batch(
        index=index,
        prompts=tuple(chosen),
        ids=tuple(tuple(prompts[p]) for p in chosen),
        temperatures=tuple(
            choices[(p + i // len(group) + turn) % len(choices)]
            for i, p in enumerate(chosen)
        ),
    )


@torch.inference_mode()
def collect(
    module: Any,
    batch: Batch,
    settings: CollectingSettings,
    end_ids: Sequence[int],
    should_stop: Callable[[], bool] = lambda: False,
    time_is_up: Callable[[], bool] = lambda: False,
) -> Texts | None:
    """Continue the prompts of ``batch``.

    Args:
        module: a transformers causal LM whose attention is
            :data:`core.distillation.batch_cache.ATTENTION`.
        batch: what to continue.
        settings: how.
        end_ids: tokens that end a text.
        should_stop: asked before every token.
        time_is_up: asked, too; the texts end there and are kept.

    Returns:
        The texts, or None when stopped.
    """
    growing = _Growing(module, batch, settings, end_ids)
    while growing.wants_more():
        if should_stop():
            return None
        if time_is_up():
            break
        growing.grow()
    return growing.texts()


class _Growing:
    """The state of a batch while it grows; ``alive`` maps cache rows to batch rows."""

    def __init__(
        self,
        module: Any,
        batch: Batch,
        settings: CollectingSettings,
        end_ids: Sequence[int],
    ) -> None:
        prompts = torch.tensor(batch.ids, device=module.device)  # [rows, length]
        rows, length = prompts.shape
        places, kept = settings.max_new_tokens, settings.kept
        self._module, self._batch, self._next = module, batch, prompts
        self._takes_cache_as = cache_argument(module)
        self._cache = BatchCache(module.config.num_hidden_layers, rows, length + places)
        self._temperatures = torch.tensor(batch.temperatures)
        self._end_ids = torch.tensor(list(end_ids))
        self._random = torch.Generator().manual_seed(
            settings.seed * 1_000_003 + batch.index
        )
        self._alive = torch.arange(rows)
        self._ended = torch.zeros(rows, dtype=torch.bool)  # of the rows in the cache
        self._ids = torch.zeros((rows, length + places), dtype=torch.int32)
        self._ids[:, :length] = prompts.cpu()
        self._lengths = torch.zeros(rows, dtype=torch.int32)
        self._top_ids = torch.zeros((rows, places, kept), dtype=torch.int32)
        self._top_log_probs = torch.zeros((rows, places, kept), dtype=torch.float16)
        self._places, self._place = places, 0

    def wants_more(self) -> bool:
        return self._place < self._places and not bool(self._ended.all())

    def grow(self) -> None:
        """Add one token to every text that goes on."""
        scores = self._scores()  # [cached rows, V]
        top, ids = (t.cpu() for t in scores.topk(self._top_ids.shape[-1], dim=-1))
        total = scores.logsumexp(-1, keepdim=True).cpu()
        chosen = self._choose(top, ids)  # [cached rows]
        going = ~self._ended
        rows = self._alive[going]
        self._ids[rows, len(self._batch.ids[0]) + self._place] = chosen[going].int()
        self._top_ids[rows, self._place] = ids[going].int()
        self._top_log_probs[rows, self._place] = (top - total)[going].half()
        self._lengths[rows] += 1
        self._place += 1
        self._ended |= torch.isin(chosen, self._end_ids)
        self._next = chosen[:, None].to(self._module.device)
        self._compact()

    def _scores(self) -> Tensor:
        cache = {self._takes_cache_as: self._cache}
        output = self._module.model(input_ids=self._next, use_cache=True, **cache)
        hidden = output.last_hidden_state[:, -1]
        return self._module.lm_head(hidden).float()

    def _choose(self, top: Tensor, ids: Tensor) -> Tensor:
        """Draw a token for each row; at temperature 0 take the most probable."""
        temperatures = self._temperatures[self._alive, None]
        law = torch.softmax(top / temperatures.clamp(min=1e-4), dim=-1)
        choice = torch.multinomial(law, 1, generator=self._random)
        choice[temperatures == 0] = 0
        return ids.gather(1, choice)[:, 0]

    def _compact(self) -> None:
        """Drop ended texts from the cache once they are many."""
        going = torch.nonzero(~self._ended)[:, 0]
        if not 0 < len(going) < COMPACT_BELOW * len(self._ended):
            return
        on_device = going.to(self._module.device)
        self._cache.keep(on_device)
        self._next = self._next[on_device]
        self._alive, self._ended = self._alive[going], self._ended[going]

    def texts(self) -> Texts:
        length, places = len(self._batch.ids[0]), self._place
        return Texts(
            prompts=torch.tensor(self._batch.prompts),
            temperatures=self._temperatures,
            prompt_length=length,
            ids=self._ids[:, : length + places],
            lengths=self._lengths,
            top_ids=self._top_ids[:, :places],
            top_log_probs=self._top_log_probs[:, :places],
        )
