"""The law of the texts under each rule: against the real rounds, and by hand."""

from __future__ import annotations

import pytest
import torch

from core.checkpoints.progress import Cancelled
from core.config import Coupling, DecodingConfig
from core.decoding.lane import LanePlan
from core.drafters.draft_model import DraftModel
from core.events import Lane
from core.lab.batched import Tree, sample, warped_rows
from core.lab.enumeration import output_law
from core.lab.logit_tree import ROOT
from core.lab.rule_laws import (
    ROWS,
    chen,
    greedy_acceptance,
    laws_of,
    shared_noise,
    sum_laws,
    text_law,
)
from core.lab.rules import CHEN, GREEDY, MATCH, RULES, SHARED
from core.lab.table_model import (
    NumberTokenizer,
    TableModel,
    table_facts,
    table_sequence,
)
from tests.core.decoding.toys import toy
from tests.core.tables import random_logits

WIDTH, LENGTH, K = 4, 3, 2
WARM = DecodingConfig(temperature=0.8, lookahead=K, max_new_tokens=LENGTH)


def table(seed: int) -> TableModel:
    return TableModel(random_logits(WIDTH, seed), table_facts(WIDTH))


@pytest.fixture(scope="module")
def tree() -> Tree:
    return Tree(*(warped_rows(table(seed), ROOT, LENGTH, WARM) for seed in (1, 0)))


@pytest.mark.parametrize("name", ROWS)
def test_each_law_sums_to_one(tree, name):
    rows = ROWS[name](tree.draft, tree.target)
    ones = torch.ones(len(tree.target), dtype=torch.float64)
    torch.testing.assert_close(sum(rows).sum(-1), ones)
    text = text_law(rows, tree.target, LENGTH, K)
    assert float(text.law.sum()) == pytest.approx(1.0, abs=1e-12)
    assert float(text.law.min()) >= 0.0


def test_every_lossless_rule_has_the_target_s_law_and_greedy_acceptance_has_not(tree):
    laws = {law.name: law for law in laws_of(tree, LENGTH, K)}
    assert list(laws) == [rule.name for rule in RULES]
    for name in (CHEN, SHARED, MATCH):
        assert laws[name].lossless
        assert laws[name].distance < 1e-12, name
    assert not laws[GREEDY].lossless
    assert laws[GREEDY].distance > 0.05


def test_chens_rule_keeps_most_of_the_lossless_ones(tree):
    laws = {law.name: law.acceptance for law in laws_of(tree, LENGTH, K)}
    assert laws[CHEN] > laws[SHARED] > laws[MATCH]


@pytest.mark.law
def test_the_law_of_chens_rule_is_that_of_the_real_rounds(tree):
    start = table_sequence(table(0), table(1), ROOT, WARM)
    law = {outcome.tokens: share for outcome, share in output_law(start, WARM).items()}
    text = text_law(chen(tree.draft, tree.target), tree.target, LENGTH, K)
    for place, share in enumerate(text.law.tolist()):
        tokens = (place // WIDTH**2, place // WIDTH % WIDTH, place % WIDTH)
        assert share == pytest.approx(law[tokens], abs=1e-12)


@pytest.mark.statistical
@pytest.mark.parametrize("name", [CHEN, SHARED])
def test_the_acceptance_is_what_real_draws_have(tree, name):
    """A deviation of five standard errors comes once in two million times."""
    shared = name == SHARED
    coupling = Coupling.SHARED_NOISE if shared else Coupling.MAXIMAL
    settings = DecodingConfig(lookahead=K, temperature=0.8, coupling=coupling)
    _, (accepted, tested) = sample(tree, torch.arange(40_000), LENGTH, settings)
    law = next(law for law in laws_of(tree, LENGTH, K) if law.name == name)
    assert law.acceptance is not None
    error = (law.acceptance * (1 - law.acceptance) / int(tested)) ** 0.5
    assert int(accepted) / int(tested) == pytest.approx(law.acceptance, abs=5 * error)


def test_by_hand_on_two_tokens():
    """Draft 0.5, 0.5; target 0.8, 0.2: one place is judged, then one bonus token."""
    draft = torch.tensor([[0.5, 0.5]] * 3, dtype=torch.float64)
    target = torch.tensor([[0.8, 0.2]] * 3, dtype=torch.float64)
    kept, mended = chen(draft, target)
    assert kept[0].tolist() == pytest.approx([0.5, 0.2])
    assert mended[0].tolist() == pytest.approx([0.3, 0.0])
    kept, _ = shared_noise(draft, target)
    # 1 / (1 + max(1, 0.25)) and 1 / (max(1, 4) + 1)
    assert kept[0].tolist() == pytest.approx([0.5, 0.2])
    # Greedy: token 0 with 0.5 + 0.5 * 0.8 instead of 0.8.
    rows = greedy_acceptance(draft, target)
    assert sum(rows)[0].tolist() == pytest.approx([0.9, 0.1])
    laws = {law.name: law for law in laws_of(Tree(draft, target), 2, 1)}
    # The first token is judged; the second is the target's own only after a keep.
    law = text_law(rows, target, 2, 1).law
    assert law.tolist() == pytest.approx([0.72, 0.18, 0.08, 0.02])
    assert laws[GREEDY].distance == pytest.approx(0.1)


def test_a_draft_that_is_the_target_is_always_kept_by_chens_rule(tree):
    same = laws_of(Tree(tree.target, tree.target), LENGTH, K)
    shares = {law.name: law.acceptance for law in same}
    assert shares[CHEN] == pytest.approx(1.0)
    assert shares[SHARED] == pytest.approx(1.0)
    assert shares[MATCH] < 0.9
    assert same[-1].distance > 0.01  # and greedy acceptance is lossy even so


def _plan(draft):
    return LanePlan(
        run_id="laws",
        lane=Lane.SPECULATIVE,
        target=toy(),
        tokenizer=NumberTokenizer(),
        eos_ids=(5,),
        prompt_ids=(1, 2, 3, 4, 1, 2),
        settings=DecodingConfig(lookahead=3, max_new_tokens=32, temperature=0.0),
        new_drafter=lambda capacity: DraftModel(draft, capacity),
    )


@pytest.mark.parametrize("weights", [True, False])
def test_a_loaded_pair_is_summed_over_its_own_logits(weights):
    draft = toy(seed=1)
    found = sum_laws(_plan(draft), draft if weights else None)
    assert found.temperature == 0.8  # at 0 there is one text, and nothing to see
    assert found.outputs == 8**3
    assert [law.distance < 1e-6 for law in found.laws] == [True, True, True, False]


def test_a_stop_acts_between_the_readings_of_the_tree():
    """A real target reads 64 texts here: half a minute in which Stop did nothing."""
    asked = []

    def should_stop() -> bool:
        asked.append(True)
        return len(asked) > 3

    draft = toy(seed=1)
    with pytest.raises(Cancelled):
        sum_laws(_plan(draft), draft, should_stop)
    assert len(asked) == 4
