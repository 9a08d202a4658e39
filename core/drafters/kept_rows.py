"""The rows of a draft's proposals, as narrow as its head."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from core.drafters.kept_ids import KeptIds
from core.sampling.block_rows import number


class KeptRows:
    """[K, V] rows that are held as the head made them, and widened when looked at.

    Most proposals are judged by one number of their row, so that the rest of it need
    not be spread over the vocabulary. The wide memory is used again by the next round.

    Args:
        vocabulary: V.
        rest: what stands where the head has no row.
        kept: where the rows of a sliced head belong; None where row i is that of id i.
    """

    def __init__(self, vocabulary: int, rest: float, kept: KeptIds | None) -> None:
        self._vocabulary, self._rest, self._kept = vocabulary, rest, kept
        self._narrow: list[Tensor] = []  # [V], narrower, or [kept]
        self._wide: list[Tensor] = []  # [V] each, from this round or an older one
        self._written: set[int] = set()

    def __len__(self) -> int:
        """Return K."""
        return len(self._narrow)

    def __getitem__(self, place: int) -> Tensor:
        """Return one [V] row."""
        row = self._narrow[place]
        if self._kept is None and len(row) == self._vocabulary:
            return row
        while len(self._wide) <= place:
            self._wide.append(row.new_full((self._vocabulary,), self._rest))
        if place not in self._written:
            self._written.add(place)
            self._write(row, self._wide[place])
        return self._wide[place]

    def narrow(self, place: int) -> tuple[Tensor, Tensor | None]:
        """Return one row as the head made it, and the ids that it stands for."""
        return self._narrow[place], self._kept.places if self._kept else None

    def _write(self, row: Tensor, out: Tensor) -> None:
        if self._kept is None:
            out[: len(row)] = row
        else:
            self._kept.write(row, out)

    def clear(self) -> None:
        """Forget all rows."""
        self._narrow.clear()
        self._written.clear()

    def append(self, row: Tensor) -> None:
        """Take one more row: [V], narrower, or [kept]."""
        self._narrow.append(row)

    def at(self, ids: Sequence[int]) -> list[float]:
        """Return the number of ``ids[i]`` in row i."""
        if self._narrow and self._narrow[0].device.type != "cpu":
            # With one visit to the device.
            return torch.stack([self[n][i] for n, i in enumerate(ids)]).tolist()
        return [self._number(row, i) for row, i in zip(self._narrow, ids, strict=True)]

    def chance(self, place: int, token_id: int) -> float:
        """Return the number of one token in the row of one place."""
        return self._number(self._narrow[place], token_id)

    def _number(self, row: Tensor, token_id: int) -> float:
        place = self._kept.place(token_id) if self._kept else token_id
        if place is None or place >= len(row):
            return self._rest
        return number(row, place)

    def like(self, other: Tensor) -> KeptRows | Tensor:
        """Return the rows on the device, of the dtype and the width of ``other``."""
        first = self._narrow[0]
        near = first.device == other.device and first.dtype == other.dtype
        if near and other.shape[-1] == self._vocabulary:
            return self
        return self.whole(other.device).to(other.dtype)

    def whole(self, device: torch.device) -> Tensor:
        """Return the [K, V] rows on ``device``."""
        return torch.stack([self[n] for n in range(len(self))]).to(device)
