"""Memory for rows of a vocabulary that every round writes over again."""

from __future__ import annotations

import torch
from torch import Tensor


class RowMemory:
    """One row for each place of a block, kept from round to round.

    Memory that is asked for anew is in no cache, and asking takes longer, right after
    a pass over all weights, than filling a short row.
    """

    def __init__(self) -> None:
        self._rows: list[Tensor] = []

    def row(self, place: int, like: Tensor) -> Tensor:
        """Return the memory of one place: shape, dtype and device are ``like``'s."""
        while len(self._rows) <= place:
            self._rows.append(torch.empty_like(like))
        row = self._rows[place]
        if (row.shape, row.dtype, row.device) != (like.shape, like.dtype, like.device):
            row = self._rows[place] = torch.empty_like(like)
        return row
