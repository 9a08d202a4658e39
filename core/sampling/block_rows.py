"""The distributions of a block of places, each made when it is first asked for.

A round looks at no place behind its first refusal, so on a CPU the rows behind it are
never made. On an accelerator all are made at once: there, launches cost more than
numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from core.config import DecodingConfig
from core.sampling.distributions import one_hot, warp_numbers


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

    def at(self, ids: Sequence[int]) -> Sequence[float]:
        """Return the probability of ``ids[i]`` in row i."""
        ...


class WarpedRows:
    """What :func:`core.sampling.distributions.warp` makes of [n, V] scores.

    Args:
        scores: [n, V], after penalties; they must stay as they are.
        settings: temperature and the rest.
        model: whose scores they are, for the sentence of an error.

    Raises:
        NumericalError: if a row that is looked at is not made of numbers.
    """

    def __init__(self, scores: Tensor, settings: DecodingConfig, model: str) -> None:
        self._scores, self._settings, self._model = scores, settings, model
        at_once = scores.device.type != "cpu"
        self._all = self._warp(scores) if at_once else None  # [n, V]
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
            row = self._made[place] = self._warp(self._scores[place])
        return row

    def _warp(self, scores: Tensor) -> Tensor:
        return warp_numbers(scores, self._settings, self._model)

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
        token = torch.tensor(self._ids[place], device=self._like.device)
        return one_hot(token, self._like.shape[-1], self._like.dtype)

    def at(self, ids: Sequence[int]) -> Sequence[float]:
        """Return 1 for each of the proposals."""
        return [float(a == b) for a, b in zip(ids, self._ids, strict=True)]


class _Chances(Sequence[float]):
    def __init__(self, rows: BlockRows, ids: Sequence[int]) -> None:
        self._rows, self._ids = rows, ids

    def __len__(self) -> int:
        return len(self._ids)

    def __getitem__(self, place):  # type: ignore[override]  # no slices
        token_id = self._ids[place]  # at the end it fails before a row is made
        return float(self._rows[place][token_id])


def chances(rows: Tensor | LazyRows, ids: Sequence[int]) -> Sequence[float]:
    """Return the probability of ``ids[i]`` in row i of ``rows`` [n, V]."""
    return _gather(rows, ids) if isinstance(rows, Tensor) else rows.at(ids)


def _gather(rows: Tensor, ids: Sequence[int]) -> list[float]:
    """Read all with one visit to the device."""
    columns = torch.tensor(ids, dtype=torch.long, device=rows.device)[:, None]
    return rows[: len(ids)].gather(-1, columns)[:, 0].tolist()
