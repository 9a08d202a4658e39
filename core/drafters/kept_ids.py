"""Between the rows of a sliced head and the whole vocabulary."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from core.sampling import kernels
from core.sampling.distributions import spread


class KeptIds:
    """The ids that a sliced head has rows for.

    Args:
        ids: rising; those that the vocabulary does not reach are left out.
        vocabulary: V.
        device: of the rows.

    Attributes:
        ids: place i of a row is that of token ``ids[i]``.
        count: how many there are.
        places: ``ids`` as a tensor, [count] int64.
    """

    def __init__(
        self, ids: Sequence[int], vocabulary: int, device: str | torch.device
    ) -> None:
        self.ids = tuple(i for i in ids if i < vocabulary)
        self.count = len(self.ids)
        self._vocabulary = vocabulary
        self._place = {token_id: n for n, token_id in enumerate(self.ids)}
        self.places = torch.tensor(self.ids, dtype=torch.long, device=device)

    def spread(self, rows: Tensor, rest: float) -> Tensor:
        """Return [..., V] rows of [..., count] ones, ``rest`` where no id was kept."""
        return spread(rows, self.places, self._vocabulary, rest)

    def place(self, token_id: int) -> int | None:
        """Return where an id stands in a row, or None for one that was not kept."""
        return self._place.get(token_id)

    def write(self, row: Tensor, out: Tensor) -> None:
        """Put the kept ids' ``row`` [count] into theirs of ``out`` [V]."""
        if kernels.serve(row, out):
            places = self.places.numpy()
            kernels.rows.scatter(row.numpy(), places, out.numpy())
        else:
            out[self.places] = row

    def pick(self, rows: Tensor) -> Tensor:
        """Return the kept ids' [..., count] of [..., V] rows."""
        return rows[..., self.places]
