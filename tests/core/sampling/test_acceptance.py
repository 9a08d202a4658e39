"""The rule by hand: distributions chosen so that the answer is visible (H11)."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from core.config import Coupling, DecodingConfig
from core.errors import VocabularyMismatchError
from core.sampling.acceptance import (
    acceptance_probability,
    accepts,
    residual_distribution,
    surviving_places,
)
from core.sampling.draws import KeyedDraws, judge
from core.sampling.streams import Purpose, signed_key, stream_key
from tests.core.tables import drafting, fixed_logits, random_logits, run, table

ALMOST_ONE = 1 - 2.0**-53
PROBABILITIES = st.floats(0, 1)


def _tensor(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


@pytest.mark.parametrize(
    ("uniform", "draft", "target", "accepted"),
    [
        (0.0, 0.5, 0.1, True),
        (0.199, 0.5, 0.1, True),
        (0.201, 0.5, 0.1, False),
        (ALMOST_ONE, 0.3, 0.3, True),  # draft = target is always accepted
        (ALMOST_ONE, 0.1, 0.5, True),
        (0.0, 0.5, 0.0, False),  # what the target cannot emit is refused at u = 0 too
        (0.5, 0.0, 0.2, True),  # a draft probability that was rounded to 0
        (0.5, 0.0, 0.0, False),
        (0.5, 1.0, 0.5, False),  # strictly below
    ],
)
def test_the_rule_by_hand(uniform, draft, target, accepted):
    """H11 (a) and (d)."""
    judged = accepts(_tensor(uniform), _tensor(draft), _tensor(target))
    assert judged.tolist() == [accepted]


@given(st.integers(0, 999), st.lists(st.tuples(PROBABILITIES, PROBABILITIES)))
def test_one_run_and_a_batch_are_judged_alike(seed, pairs):
    draft, target = [d for d, _ in pairs], [t for _, t in pairs]
    survivors, uniforms = KeyedDraws(seed).survivors(3, draft, target)
    keys = [
        signed_key(stream_key(seed, Purpose.ACCEPT, 3 + i)) for i in range(len(pairs))
    ]
    batched = judge(
        _tensor(*draft), _tensor(*target), torch.tensor(keys, dtype=torch.long)
    )
    assert survivors == int(batched)
    assert len(uniforms) == min(len(pairs), survivors + 1)


@given(PROBABILITIES, PROBABILITIES)
def test_the_acceptance_probability_is_the_share_of_u_that_accepts(draft, target):
    chance = float(acceptance_probability(_tensor(draft), _tensor(target)))
    expected = min(1.0, target / draft) if draft > 0 else float(target > 0)
    assert chance == pytest.approx(expected, abs=1e-12)
    assert 0 <= chance <= 1


def test_survivors_are_those_before_the_first_refusal():
    judged = torch.tensor([[1, 1, 0, 1], [0, 1, 1, 1], [1, 1, 1, 1]], dtype=torch.bool)
    assert surviving_places(judged).tolist() == [2, 0, 4]
    assert surviving_places(judged[:, :0]).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("draft", "target", "expected"),
    [
        ((0.8, 0.2), (0.6, 0.4), (0.0, 1.0)),
        ((0.5, 0.3, 0.2), (0.2, 0.5, 0.3), (0.0, 2 / 3, 1 / 3)),
        ((0.0, 1.0), (1.0, 0.0), (1.0, 0.0)),
        ((0.3, 0.7), (0.3, 0.7), (0.3, 0.7)),  # equal: the target itself, never NaN
        ((1.0, 0.0, 0.0), (0.2, 0.3, 0.5), (0.0, 0.375, 0.625)),
    ],
)
def test_the_residual_by_hand(draft, target, expected):
    """H11, and Algorithm 2: norm((q - p)+)."""
    residual = residual_distribution(_tensor(*draft), _tensor(*target))
    assert residual.tolist() == pytest.approx(list(expected))


def test_the_residual_takes_batches_row_by_row():
    draft, target = torch.rand(2, 5, 7).softmax(-1), torch.rand(2, 5, 7).softmax(-1)
    whole = residual_distribution(draft, target)
    for i, j in ((0, 0), (1, 4)):
        row = residual_distribution(draft[i, j], target[i, j])
        assert torch.allclose(whole[i, j], row, rtol=1e-6)  # a kernel, and torch


def test_the_smallest_residual_is_still_a_distribution():
    """H11: a mass of one unit in the last place."""
    for dtype in (torch.float32, torch.float64):
        target = torch.tensor([0.5, 0.5], dtype=dtype)
        step = torch.finfo(dtype).eps / 2
        draft = target + torch.tensor([step, -step], dtype=dtype)
        assert residual_distribution(draft, target).tolist() == [0.0, 1.0]


def test_rows_of_different_widths_are_refused_in_words():
    with pytest.raises(VocabularyMismatchError, match="3 and 4 ids"):
        residual_distribution(torch.ones(3), torch.ones(4))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("coupling", Coupling)
def test_a_target_that_drafts_for_itself_has_no_zero_residual(dtype, coupling):
    """H11 (b): all accepted, no NaN."""
    target = table(random_logits(50, 1, dtype=dtype), 50)
    settings = DecodingConfig(
        temperature=1.0, top_p=0.9, lookahead=6, max_new_tokens=500, coupling=coupling
    )
    counts = run(target, drafting(target), settings).counts
    assert counts.accepted == counts.tested


def test_disjoint_supports_refuse_every_proposal():
    """H11 (c)."""
    target = table(fixed_logits([1, 0, 0, 0]), 4)
    draft = table(fixed_logits([0, 0, 0, 1]), 4)
    settings = DecodingConfig(temperature=1.0, lookahead=4, max_new_tokens=30)
    summary = run(target, drafting(draft), settings)
    assert set(summary.tokens) == {0}
    assert summary.counts.accepted == 0
    assert summary.counts.rounds == 30
