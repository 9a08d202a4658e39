"""The bench's own arithmetic, on rounds whose cost is known; no times are asserted."""

from __future__ import annotations

import dataclasses
import json

import pytest
import torch

from core.config import DecodingConfig
from core.events import Counts
from core.lab.bench import Bench, BenchResult, as_json
from core.lab.bench_figures import RoundSteps, predict, speedup
from core.lab.contenders import Timing
from core.lab.step_costs import round_steps, step_costs
from core.lab.table_model import TableModel, table_facts
from core.lab.timed_model import TimedModel
from core.machine import describe_machine

COSTS = {1: 20.0, 2: 20.0, 5: 24.0, 9: 32.0}


def timing(emitted, lookaheads, rate=10.0, tokens=(1, 2)):
    rounds = len(lookaheads)
    counts = Counts(rounds=rounds, emitted=emitted)
    return Timing(tokens, rate, counts, 26.0 * rounds, 25.0 * rounds, lookaheads)


def model(name="table"):
    facts = dataclasses.replace(table_facts(128), name=name)
    return TableModel(lambda prefix: torch.zeros(128), facts)


def test_prediction_prices_each_round_by_its_own_lookahead():
    rounds = timing(emitted=6, lookaheads=(4, 0))
    plain = timing(emitted=2, lookaheads=(0, 0))  # 1 ms of its own a round, as all
    expected = 6 * 21.0 / ((5.0 + 3 * 2.0 + 24.0) + 20.0 + 2 * 1.0)
    found = predict([rounds], [plain], RoundSteps(COSTS, (5.0, 2.0, 2.0, 2.0)))
    assert found == pytest.approx(expected)


def test_prediction_of_rounds_without_proposals_is_plain_decoding():
    rounds = [timing(3, (0, 0, 0))]
    assert predict(rounds, rounds, RoundSteps(COSTS, (9.0,))) == pytest.approx(1.0)


def test_prediction_without_rounds_is_unknown():
    assert predict([], [], RoundSteps(COSTS)) is None


def test_prediction_and_measurement_are_the_same_mean_over_prompts():
    plain = [timing(8, (0,) * 8)] * 2
    fast = [timing(8, (0,) * 8, rate=10.0), timing(8, (0,) * 4, rate=20.0)]
    assert predict(fast, plain, RoundSteps(COSTS)) == pytest.approx(1.5)
    slow = [timing(8, (0,) * 8, rate=5.0)] * 2
    assert speedup([plain] * 3, [fast, fast, slow]) == pytest.approx(1.5)


def test_a_drafts_steps_are_timed_in_the_order_of_a_round():
    stepped = []

    class Watched(TimedModel):
        def step(self, runner, ids):
            stepped.append((self.facts.name, len(ids)))
            return super().step(runner, ids)

    target, draft = Watched(model("target")), Watched(model("draft"))
    found = round_steps(target, draft, 3, context=8, repeats=2)
    assert len(found) == 3
    assert min(found) > 0
    assert stepped == 3 * [("target", 4), *3 * [("draft", 1)]]


def test_a_stopped_timing_of_rounds_has_no_figures():
    assert round_steps(model(), model(), 3, lambda: True) == ()


def test_steps_are_timed_for_each_width_from_the_same_context():
    costs = step_costs(model(), (1, 2, 5), context=8, repeats=3)
    assert set(costs) == {1, 2, 5}
    assert min(costs.values()) > 0


def test_timed_model_changes_nothing_and_adds_up_its_steps():
    timed, plain = TimedModel(model()), model()
    runner, other = timed.new_runner(8), plain.new_runner(8)
    for ids in ([1], [2, 3]):
        assert torch.equal(runner.step(ids), other.step(ids))
    runner.truncate(1)
    assert (runner.length, runner.capacity) == (1, 8)
    assert timed.step_ms > 0


@pytest.fixture
def result(monkeypatch):
    return bench_of(monkeypatch, None, DecodingConfig())


@pytest.mark.parametrize("lookahead", [0, 3])
def test_a_drafts_own_steps_are_told_whatever_k_is(monkeypatch, lookahead):
    settings = DecodingConfig(lookahead=lookahead)
    found = as_json(bench_of(monkeypatch, model("draft"), settings))["step_ms"]
    assert {"1", "2"} <= set(found["draft"])
    assert len(found["draft_in_round"]) == lookahead


def test_a_bench_says_how_many_prompts_its_figures_are_of(result):
    assert as_json(result)["prompts"] == {"all": 2, "ours": 3, "others": 2}


def bench_of(monkeypatch, draft, settings):
    monkeypatch.setattr("core.lab.bench.read_bandwidth", lambda device: 2e10)
    ways = {
        "ours plain": lambda ids, settings: timing(8, (0,) * 8),
        "ours speculative": lambda ids, settings: timing(8, (4, 4), rate=25.0),
        "transformers plain": lambda ids, settings: timing(8, ()),
        "transformers speculative": lambda ids, settings: timing(8, (), tokens=(1, 3)),
    }
    prompts = [(1, 2), (3, 4)]
    machine = describe_machine("cpu")
    bench = Bench(
        model(), draft, ways, prompts, prompts, settings, 2, machine, ours_only=[(5,)]
    )
    *progress, found = bench.events()
    assert progress
    assert isinstance(found, BenchResult)
    return found


def test_measured_speedup_is_the_ratio_of_rates(result):
    assert result.measured_speedup == pytest.approx(2.5)
    assert result.round_overhead == pytest.approx(0.04)
    assert result.rates["ours speculative"].median == 25.0


def test_a_contender_with_other_tokens_is_noticed(result):
    assert result.same_tokens == 0.0


def test_json_has_the_keys_that_others_rely_on(result):
    found = json.loads(json.dumps(as_json(result)))
    assert {"1", "2", "k+1"} <= set(found["step_ms"]["target"])
    assert set(found["step_ms_long"]) == {"context", "target"}
    assert found["five_rows_over_one"] > 0
    for side in ("ours", "transformers"):
        assert set(found[side]) == {"plain", "speculative"}
    assert {"floor_ms", "round_overhead", "predicted_speedup", "memory"} <= set(found)


def test_a_stopped_bench_has_no_result():
    bench = Bench(
        model(), None, {"ours plain": None, "ours speculative": None}, [], [],
        DecodingConfig(), 1, describe_machine("cpu"), lambda: True,
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("core.lab.bench.read_bandwidth", lambda device: 2e10)
        assert not any(isinstance(event, BenchResult) for event in bench.events())
