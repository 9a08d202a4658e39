"""Warping and penalties, against the slow reference and by hand (H6)."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from core.config import DecodingConfig
from core.errors import NumericalError
from core.sampling.block_rows import WarpedRows
from core.sampling.distributions import (
    fit_width,
    penalise,
    require_numbers,
    warp,
)
from tests.core.law.reference import penalised, warped

SCORES = st.lists(st.floats(-20, 20), min_size=1, max_size=12)
IDS = st.lists(st.integers(0, 11), max_size=14)
KNOBS = st.builds(
    DecodingConfig,
    temperature=st.floats(0.05, 5),
    top_k=st.integers(0, 14),
    top_p=st.floats(0.01, 1),
    min_p=st.floats(0, 1),
)
PENALTIES = st.builds(
    DecodingConfig,
    repetition_penalty=st.floats(0.1, 3),
    presence_penalty=st.floats(-2, 2),
    frequency_penalty=st.floats(-2, 2),
    no_repeat_ngram=st.integers(0, 4),
)


@given(SCORES, KNOBS)
def test_warping_is_the_design_s(scores, settings):
    law = warp(torch.tensor(scores, dtype=torch.float64), settings).tolist()
    assert law == pytest.approx(warped(scores, settings), abs=1e-9)


@given(SCORES, IDS, st.integers(0, 14), PENALTIES)
def test_penalties_are_the_design_s(scores, history, prompt, settings):
    history = [i for i in history if i < len(scores)]
    prompt = min(prompt, len(history))
    row = torch.tensor(scores, dtype=torch.float64)
    before = row.clone()
    out = penalise(row, history, prompt, settings).tolist()
    assert out == pytest.approx(penalised(scores, history, prompt, settings))
    assert torch.equal(row, before), "the model's own logits were changed"


@given(st.lists(SCORES, min_size=2, max_size=4), KNOBS)
def test_a_batch_is_warped_row_by_row(rows, settings):
    width = min(map(len, rows))
    batch = torch.tensor([row[:width] for row in rows], dtype=torch.float32)
    together = warp(batch, settings)
    assert all(
        torch.equal(together[i], warp(batch[i], settings)) for i in range(len(rows))
    )


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_probabilities_are_float32_or_wider(dtype):
    row = torch.tensor([1.0, 2.0, 3.0], dtype=dtype)
    for settings in (DecodingConfig(temperature=1.0), DecodingConfig()):
        assert warp(row, settings).dtype == torch.float32
        assert warp(row.double(), settings).dtype == torch.float64


def test_ties_go_to_the_lowest_id():
    row = torch.tensor([0.0, 3.0, 3.0, 1.0, 3.0])
    assert warp(row, DecodingConfig()).tolist() == [0, 1, 0, 0, 0]
    kept = warp(row, DecodingConfig(temperature=1.0, top_k=2))
    assert kept.tolist() == [0, 0.5, 0.5, 0, 0]


@pytest.mark.parametrize("temperature", [1e-4, 1e-30, 1e-44, 1e-46, 1e-300])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_tiny_temperature_does_not_overflow(temperature, dtype):
    """H6 (c)."""
    row = torch.tensor([-9.0, 30000.0, 29999.0, -30000.0], dtype=dtype)
    law = warp(row, DecodingConfig(temperature=temperature))
    assert law.tolist() == [0, 1, 0, 0]


def test_top_p_keeps_the_token_that_reaches_the_mass():
    row = torch.tensor([0.5, 0.3, 0.15, 0.05], dtype=torch.float64).log()
    law = warp(row, DecodingConfig(temperature=1.0, top_p=0.6))
    assert law.tolist() == pytest.approx([0.625, 0.375, 0, 0])


def test_top_p_reaches_beyond_the_first_guess():
    row = torch.zeros(5000)
    law = warp(
        row + torch.arange(5000) * 1e-6, DecodingConfig(temperature=1, top_p=0.9)
    )
    assert 4400 < int((law > 0).sum()) < 4600
    assert float(law.sum()) == pytest.approx(1)


def test_knobs_act_in_the_order_of_the_design():
    """Top-p counts the mass that is left after top-k, min-p after both."""
    row = torch.tensor([0.4, 0.3, 0.2, 0.1], dtype=torch.float64).log()
    settings = DecodingConfig(temperature=1.0, top_k=2, top_p=0.5)
    assert warp(row, settings).tolist() == [1, 0, 0, 0]


def test_a_ban_of_everything_gives_way():
    settings = DecodingConfig(no_repeat_ngram=1)
    row = torch.tensor([0.5, 0.1])
    assert penalise(row, [0, 1], 2, settings).tolist() == row.tolist()


def test_a_narrow_head_is_penalised_without_the_ids_it_lacks():
    settings = DecodingConfig(repetition_penalty=2.0, frequency_penalty=0.5,
                              no_repeat_ngram=1)  # fmt: skip
    row = penalise(torch.tensor([1.0, -1.0]), [5, 1, 5], 1, settings)
    assert row.tolist() == [1.0, -torch.inf]


def test_rows_are_cut_or_filled_to_the_vocabulary():
    row = torch.tensor([[0.25, 0.75]])
    assert fit_width(row, 4).tolist() == [[0.25, 0.75, 0, 0]]
    assert fit_width(row, 1).tolist() == [[0.25]]


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_scores_that_are_no_numbers_are_refused_in_words(bad):
    rows = torch.tensor([[0.0, 1.0], [0.0, bad]])
    with pytest.raises(NumericalError, match="tiny returned scores"):
        require_numbers(rows, "tiny")
    masked = torch.tensor([[0.0, -torch.inf]])
    assert require_numbers(masked, "tiny") is masked


def test_a_row_of_nothing_but_masked_ids_is_refused():
    with pytest.raises(NumericalError):
        require_numbers(torch.full((2,), -torch.inf), "tiny")


def test_a_row_is_made_when_it_is_asked_for_and_none_behind_the_last_id():
    rows = WarpedRows(torch.randn(4, 9), DecodingConfig(temperature=1.0), "tiny")
    assert len(list(rows.at([1, 2]))) == 2
    assert set(rows._made) == {0, 1}
