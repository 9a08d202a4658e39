"""The distributions of a block: made when asked for, in memory that is used again."""

from __future__ import annotations

import pytest
import torch

from core.config import DecodingConfig
from core.errors import NumericalError
from core.sampling.block_rows import (
    CertainRows,
    GreedyRows,
    WarpedRows,
    chance,
    chances,
)
from core.sampling.distributions import warp
from core.sampling.row_memory import RowMemory

SCORES = torch.tensor([[0.0, 3.0, 1.0, 3.0], [2.0, 0.5, 5.0, 1.0]])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_greedy_rows_are_those_of_temperature_zero(dtype):
    scores, settings = SCORES.to(dtype), DecodingConfig(temperature=0)
    rows = GreedyRows(scores, "tiny")
    assert len(rows) == 2
    assert torch.equal(rows[0], warp(scores, settings)[0])
    assert torch.equal(rows[1], warp(scores, settings)[1])
    assert [rows.best(0), rows.best(1)] == [(1, 0.0), (2, 3.0)]
    assert list(rows.at([1, 0])) == [1.0, 0.0]
    assert chance(rows, 1, 2) == 1.0


def test_a_greedy_row_behind_the_refusal_is_never_looked_at():
    scores = SCORES.clone()
    scores[1] = torch.nan
    rows = GreedyRows(scores, "tiny")
    assert rows.best(0).token_id == 1
    with pytest.raises(NumericalError, match="tiny returned"):
        rows.best(1)


def test_single_numbers_are_the_same_from_a_tensor_and_from_rows():
    settings = DecodingConfig(temperature=0.7)
    rows, tensor = WarpedRows(SCORES, settings, "tiny"), warp(SCORES, settings)
    assert list(chances(rows, [1, 2])) == chances(tensor, [1, 2])
    assert chance(rows, 1, 0) == chance(tensor, 1, 0)
    certain = CertainRows([3, 0], SCORES)
    assert list(chances(certain, [3, 1])) == [1.0, 0.0]
    assert certain[0].tolist() == [0, 0, 0, 1]


def test_the_next_round_writes_over_the_last_ones_distributions():
    memory, settings = RowMemory(), DecodingConfig(temperature=1.0)
    before = WarpedRows(SCORES, settings, "tiny", memory)[0]
    after = WarpedRows(SCORES.flip(0), settings, "tiny", memory)[0]
    assert after.data_ptr() == before.data_ptr()
    assert torch.allclose(after, SCORES[1].softmax(-1))


@pytest.mark.parametrize("other", [SCORES[0].double(), SCORES[0, :3]])
def test_memory_fits_what_is_asked_for(other):
    memory = RowMemory()
    kept = memory.row(1, SCORES[0])
    assert memory.row(1, SCORES[1]) is kept
    row = memory.row(1, other)
    assert (row.shape, row.dtype) == (other.shape, other.dtype)
