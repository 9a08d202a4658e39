"""Rows of a sliced head: narrow in memory, whole when looked at."""

from __future__ import annotations

import pytest
import torch

from core.drafters.kept_ids import KeptIds
from core.drafters.kept_rows import KeptRows

KEPT = (1, 4, 6)


def _rows(dtype: torch.dtype, rest: float = 0.0) -> KeptRows:
    rows = KeptRows(8, rest, KeptIds(KEPT, 8, "cpu"))
    for start in (1, 4):
        rows.append(torch.arange(start, start + 3, dtype=dtype))
    return rows


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_row_is_whole_when_it_is_looked_at(dtype):
    rows = _rows(dtype)
    assert len(rows) == 2
    assert rows[1].tolist() == [0, 4, 0, 0, 5, 0, 6, 0]
    assert rows[0].tolist() == [0, 1, 0, 0, 2, 0, 3, 0]
    assert _rows(dtype, -torch.inf)[0][0] == -torch.inf


def test_single_numbers_are_read_from_the_narrow_rows():
    assert _rows(torch.float32).at([4, 6]) == [2.0, 6.0]
    assert _rows(torch.float32).at([1, 5]) == [1.0, 0.0]  # one that was not kept


def test_the_next_round_writes_over_the_last_ones_rows():
    rows = _rows(torch.float32)
    before = rows[0]
    rows.clear()
    assert len(rows) == 0
    rows.append(torch.tensor([7.0, 8.0, 9.0]))
    assert rows[0].tolist() == [0, 7, 0, 0, 8, 0, 9, 0]
    assert rows[0] is before


def test_a_narrow_head_without_kept_ids_ends_early():
    rows = KeptRows(4, 0.0, None)
    rows.append(torch.tensor([0.5, 0.5]))
    assert rows[0].tolist() == [0.5, 0.5, 0, 0]
    assert rows.at([1]) == [0.5]


def test_rows_for_a_wider_target_or_another_dtype_are_made_whole():
    rows = _rows(torch.float32)
    assert rows.like(torch.zeros(8)) is rows
    for other in (torch.zeros(8, dtype=torch.float64), torch.zeros(9)):
        made = rows.like(other)
        assert isinstance(made, torch.Tensor)
        assert made.dtype == other.dtype
        assert made.tolist() == [rows[0].tolist(), rows[1].tolist()]
