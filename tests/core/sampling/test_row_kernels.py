"""The kernels for rows of a vocabulary say what torch says, or that they cannot."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch

from core.config import DecodingConfig
from core.errors import NumericalError
from core.sampling import kernels, summaries
from core.sampling.acceptance import residual_distribution
from core.sampling.distributions import best_two, softmax, warp, warp_numbers
from core.sampling.draws import exponential_race
from core.sampling.streams import Purpose, signed_key, stream_key

pytestmark = pytest.mark.skipif(not kernels.AVAILABLE, reason="numba is not installed")

WIDTHS = (1, 2, 127, 128, 257, 1000, 6000)


def _scores(width: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(width, generator=torch.Generator().manual_seed(seed)) * 4


def _laws(width: int) -> tuple[torch.Tensor, torch.Tensor]:
    draft, target = _scores(width, 1).softmax(-1), _scores(width, 2).softmax(-1)
    return torch.where(draft < draft.median(), 0, draft), target


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("temperature", [0.3, 1.0, 1.7])
def test_a_law_is_float64s_to_rounding(width, temperature):
    row, settings = _scores(width), DecodingConfig(temperature=temperature)
    exact = warp(row.double(), settings)
    law = warp_numbers(row, settings, "tiny")
    assert torch.equal(law, warp(row, settings))
    assert torch.allclose(law.double(), exact, rtol=2e-5, atol=1e-30)
    assert float(law.double().sum()) == pytest.approx(1, abs=1e-6)


def test_a_banned_token_has_no_chance_at_all():
    row = torch.tensor([0.0, -torch.inf, 3.0, -200.0])
    law = warp_numbers(row, DecodingConfig(temperature=1.0), "tiny")
    assert law[1] == law[3] == 0


@pytest.mark.parametrize("width", WIDTHS)
def test_the_favourite_is_the_first_of_the_best(width):
    row = _scores(width).round()
    law = warp(row, DecodingConfig())
    assert law.sum() == 1
    assert int(law.argmax()) == int((row == row.max()).nonzero()[0])


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_best_token_and_its_lead_are_those_of_a_sort(width, dtype):
    row = _scores(width).round().to(dtype)  # rounded, so that there are ties
    token_id, lead = best_two(row, "tiny")
    assert token_id == int((row == row.max()).nonzero()[0])
    two = row.sort(descending=True).values
    assert lead == (float(two[0] - two[1]) if width > 1 else torch.inf)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("wrong", [torch.nan, torch.inf])
@pytest.mark.parametrize("place", [0, 3, 299])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_what_is_no_number_is_refused(temperature, wrong, place, dtype):
    row = _scores(300).to(dtype)
    row[place] = wrong
    with pytest.raises(NumericalError, match="tiny returned"):
        warp_numbers(row, DecodingConfig(temperature=temperature), "tiny")
    with pytest.raises(NumericalError, match="tiny returned"):
        best_two(row, "tiny")


@pytest.mark.parametrize("width", WIDTHS)
def test_the_residual_is_that_of_float64(width):
    draft, target = _laws(width)
    exact = residual_distribution(draft.double(), target.double())
    assert torch.allclose(
        residual_distribution(draft, target).double(), exact, rtol=1e-4, atol=1e-9
    )
    assert torch.equal(residual_distribution(target, target), target)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_largest_come_in_order_ties_to_the_lower(width, dtype):
    row = _scores(width).round().to(dtype)
    count = min(8, width)
    order = np.lexsort((np.arange(width), -row.numpy()))[:count]
    found = summaries.largest(row, count)
    assert found == [(int(i), float(row[i])) for i in order]


@pytest.mark.parametrize("width", WIDTHS)
def test_two_laws_are_compared_as_torch_does(width):
    draft, target = _laws(width)
    key = signed_key(stream_key(3, Purpose.TARGET, 7))
    overlap, product, agrees = summaries.compare(draft, target, key)
    assert overlap == pytest.approx(
        float(torch.minimum(draft, target).double().sum()), rel=1e-9
    )
    assert product == pytest.approx(
        float((draft.double() * target.double()).sum()), rel=1e-9
    )
    keys = torch.tensor(key).expand(2)
    first, second = exponential_race(torch.stack([draft, target]), keys)[0].tolist()
    assert agrees == (first == second)


def _best_of_laws(draft, ids, target):
    law = softmax(draft)
    wide = torch.zeros(len(target))
    wide[torch.arange(len(draft)) if ids is None else ids] = law
    thought = softmax(target)
    laws = wide, thought, residual_distribution(wide, thought)
    return tuple(summaries.most_probable(law) for law in laws)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kept", ["all", "first", "some"])
def test_the_best_of_both_unwarped_laws_are_those_of_each_alone(width, kept):
    ids = torch.arange(0, width, 3) if kept == "some" else None
    size = width if kept == "all" else (width + 2) // 3
    target, find = _scores(width, 2), summaries.UnwarpedTops()
    for seed in (1, 3):  # the second writes over the first one's memory
        draft = _scores(size, seed)
        _check_best(find(draft, ids, target), _best_of_laws(draft, ids, target))


def _check_best(found, wanted):
    """Both have the same tokens; a residual's mass may be summed in another order."""
    for one, other in zip(found, wanted, strict=True):
        assert [i for i, _ in one] == [i for i, _ in other]
        assert [p for _, p in one] == pytest.approx([p for _, p in other], rel=1e-4)


@pytest.mark.parametrize("sharp", [1.0, 4.0, 12.0])
@pytest.mark.parametrize("apart", [0.0, 1e-4, 0.3, 3.0])
@pytest.mark.parametrize("kept", [None, 3])
def test_the_best_of_a_residual_are_found_however_sharp_and_close_both_are(
    sharp, apart, kept
):
    width = 3000
    target = sharp * _scores(width, 5)
    ids = None if kept is None else torch.arange(1, width, kept)
    draft = (target + apart * _scores(width, 6))[slice(None) if ids is None else ids]
    found = summaries.UnwarpedTops()(draft, ids, target)
    wanted = _best_of_laws(draft, ids, target)
    if apart or ids is not None:
        _check_best(found, wanted)
    else:
        assert found[1] == found[2] == wanted[2], "nothing is left: the target itself"


@pytest.mark.parametrize("lead", [1.0, 8.0, 14.0, 30.0])
def test_the_residual_of_a_certain_draft_is_what_the_target_has_left(lead):
    target = _scores(3000, 7)
    target[40] = target.max() + lead  # at the end next to nothing is left
    find, wanted = summaries.UnwarpedTops(), target.double()
    wanted[40] = -torch.inf
    law, best = wanted.softmax(-1), target.double().softmax(-1)
    for _ in range(2):  # the second finds what the first one left behind
        find(torch.zeros(1), torch.tensor([17]), target)
        draft, thought, rest = find(torch.zeros(1), torch.tensor([40]), target)
        assert draft == [(40, 1.0)]
        assert thought[0] == (40, pytest.approx(float(best[40])))
        assert [i for i, _ in rest] == law.topk(len(rest)).indices.tolist()
        left = [float(law[i]) for i, _ in rest]
        assert [p for _, p in rest] == pytest.approx(left, rel=1e-5)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_best_of_an_unwarped_row_are_those_of_its_softmax(width):
    row = _scores(width)
    found = summaries.most_probable_unwarped(row)
    wanted = summaries.most_probable(softmax(row.double()))
    assert [i for i, _ in found] == [i for i, _ in wanted]
    assert [p for _, p in found] == pytest.approx([p for _, p in wanted], rel=1e-4)


def test_the_best_of_other_widths_and_dtypes_are_found_one_after_the_other():
    find = summaries.UnwarpedTops()
    wide = find(_scores(9, 1), None, _scores(300, 2))
    exact = find(_scores(9, 1).double(), None, _scores(300, 2).double())
    assert [[i for i, _ in best] for best in wide] == [[i for i, _ in b] for b in exact]
    draft, target = _scores(4, 1), _scores(5, 2)
    _check_best(find(draft, None, target), _best_of_laws(draft, None, target))


PREPARED = """
import torch
from core.config import DecodingConfig
from core.sampling import kernels
from core.sampling.distributions import warp_numbers

kernels.prepare()
def made():
    found = vars(kernels.rows).items()
    return {name: len(getattr(it, "signatures", ())) for name, it in found}

before = made()
assert before["softmax"] == before["keep_best"] == before["keep_nucleus"] == 1
for temperature in (0, 1, 0.7):
    for cut in ({}, {"top_k": 5, "top_p": 0.9, "min_p": 0.1}):
        settings = DecodingConfig(temperature=temperature, **cut)
        warp_numbers(torch.randn(50), settings, "tiny")
assert made() == before, "it was compiled in the middle of a run"
"""


@pytest.mark.slow
def test_no_run_waits_for_a_compiler_once_all_is_prepared():
    """In a process of its own: the other tests here ask for all sorts of types."""
    subprocess.run([sys.executable, "-c", PREPARED], check=True)
