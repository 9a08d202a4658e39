"""The distributions of a block of places, each made when it is first asked for.

A round looks at no place behind its first refusal, so on a CPU the rows behind it are
never made. On an accelerator all distributions are made at once: there, launches cost
more than numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from core.config import DecodingConfig
from core.sampling import kernels
from core.sampling.distributions import best_two, one_hot, warp_numbers
from core.sampling.draws import Choice
from core.sampling.row_memory import RowMemory


class BlockRows(Protocol):
    """[n, V] distributions, row by row."""

    def __len__(self) -> int:
        """Return n."""
        ...

    def __getitem__(self, place: int, /) -> Tensor:
        """Return the [V] distribution of one place."""
        ...


class LazyRows(BlockRows, Protocol):
    """Rows that can be asked for single numbers."""

    def chance(self, place: int, token_id: int) -> float:
        """Return the probability of one token in the row of one place."""
        ...

    def at(self, ids: Sequence[int]) -> Sequence[float]:
        """Return the probability of ``ids[i]`` in row i, each read when asked for."""
        ...


class WarpedRows:
    """What :func:`core.sampling.distributions.warp` makes of [n, V] scores.

    Args:
        scores: [n, V], after penalties; they must stay as they are.
        settings: temperature and the rest.
        model: whose scores they are, for the sentence of an error.
        memory: that the rows may be written into.

    Raises:
        NumericalError: if a row that is looked at is not made of numbers.
    """

    def __init__(
        self,
        scores: Tensor,
        settings: DecodingConfig,
        model: str,
        memory: RowMemory | None = None,
    ) -> None:
        self._scores, self._settings, self._model = scores, settings, model
        self._memory = memory or RowMemory()
        at_once = scores.device.type != "cpu"
        self._all = warp_numbers(scores, settings, model) if at_once else None  # [n, V]
        self._made: dict[int, Tensor] = {}

    def __len__(self) -> int:
        """Return n."""
        return len(self._scores)

    def __getitem__(self, place: int) -> Tensor:
        """Return the [V] distribution of one place."""
        if self._all is not None:
            return self._all[place]
        row = self._made.get(place)
        if row is None:
            row = self._made[place] = self._warp(place)
        return row

    def _warp(self, place: int) -> Tensor:
        scores = self._scores[place]
        memory = self._memory.row(place, scores)
        return warp_numbers(scores, self._settings, self._model, memory)

    def chance(self, place: int, token_id: int) -> float:
        """Return the probability of one token in the row of one place."""
        return number(self[place], token_id)

    def at(self, ids: Sequence[int]) -> Sequence[float]:
        """Return the probability of ``ids[i]`` at place i, each read when asked for."""
        return _Chances(self, ids) if self._all is None else _gather(self._all, ids)


class CertainRows:
    """[n, V] distributions of a drafter without doubt: all mass on its proposals."""

    def __init__(self, ids: Sequence[int], like: Tensor) -> None:
        self._ids, self._like = ids, like

    def __len__(self) -> int:
        """Return n."""
        return len(self._ids)

    def __getitem__(self, place: int) -> Tensor:
        """Return the [V] distribution of one place."""
        return _one_hot(self._ids[place], self._like)

    def narrow(self, place: int) -> tuple[Tensor, Tensor | None]:
        """Return scores of one place that stand for it, and the ids they belong to."""
        ids = torch.tensor([self._ids[place]], device=self._like.device)
        return self._like.new_zeros(1), ids

    def chance(self, place: int, token_id: int) -> float:
        """Return 1 for the proposal of that place."""
        return float(self._ids[place] == token_id)

    def at(self, ids: Sequence[int]) -> Sequence[float]:
        """Return 1 for each of the proposals."""
        return _Chances(self, ids)


class GreedyRows:
    """[n, V] distributions at temperature 0: all mass on the best token of a row.

    Args:
        scores: [n, V], after penalties; they must stay as they are.
        model: whose scores they are, for the sentence of an error.

    Raises:
        NumericalError: if a row that is looked at is not made of numbers.
    """

    def __init__(self, scores: Tensor, model: str) -> None:
        self._scores, self._model = scores, model
        self._best: dict[int, Choice] = {}

    def __len__(self) -> int:
        """Return n."""
        return len(self._scores)

    def __getitem__(self, place: int) -> Tensor:
        """Return the [V] distribution of one place."""
        return _one_hot(self.best(place).token_id, self._scores)

    def best(self, place: int) -> Choice:
        """Return the best token of one place; the margin is one of scores."""
        best = self._best.get(place)
        if best is None:
            best = Choice(*best_two(self._scores[place], self._model))
            self._best[place] = best
        return best

    def chance(self, place: int, token_id: int) -> float:
        """Return 1 for the best token of that place."""
        return float(self.best(place).token_id == token_id)

    def at(self, ids: Sequence[int]) -> Sequence[float]:
        """Return the probability of ``ids[i]`` at place i, each read when asked for."""
        return _Chances(self, ids)


def _one_hot(token_id: int, like: Tensor) -> Tensor:
    token = torch.tensor(token_id, device=like.device)
    return one_hot(token, like.shape[-1], like.dtype)


class _Chances(Sequence[float]):
    def __init__(self, rows: LazyRows, ids: Sequence[int]) -> None:
        self._rows, self._ids = rows, ids

    def __len__(self) -> int:
        return len(self._ids)

    def __getitem__(self, place):  # type: ignore[override]  # no slices
        token_id = self._ids[place]  # at the end it fails before a row is made
        return self._rows.chance(place, token_id)


def number(row: Tensor, place: int) -> float:
    """Return one number of a row; on a CPU the short way, past torch's indexing."""
    if kernels.serve(row):
        return float(row.numpy()[place])
    return float(row[place])


def chance(rows: Tensor | LazyRows, place: int, token_id: int) -> float:
    """Return the probability of one token in the row of one place."""
    if isinstance(rows, Tensor):
        return number(rows[place], token_id)
    return rows.chance(place, token_id)


def chances(rows: Tensor | LazyRows, ids: Sequence[int]) -> Sequence[float]:
    """Return the probability of ``ids[i]`` in row i of ``rows`` [n, V]."""
    return _gather(rows, ids) if isinstance(rows, Tensor) else rows.at(ids)


def _gather(rows: Tensor, ids: Sequence[int]) -> list[float]:
    """Read all with one visit to the device."""
    columns = torch.tensor(ids, dtype=torch.long, device=rows.device)[:, None]
    return rows[: len(ids)].gather(-1, columns)[:, 0].tolist()
