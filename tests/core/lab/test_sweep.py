"""Sweeps: the arithmetic of cells by hand, and whole sweeps of a tiny pair."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from core import cli
from core.config import DecodingConfig
from core.control import Control
from core.errors import ConfigurationError
from core.events import Counts
from core.lab.cost_model import by_place, curve, predict
from core.lab.figure_one import figure_curves
from core.lab.paper_figure import CURVES, HUMAN_EVAL, XSUM
from core.lab.sweep_auto import auto_lines, auto_results
from core.lab.sweep_events import (
    ALL_KINDS,
    AUTO,
    CellFinished,
    SweepFinished,
    SweepPlan,
    SweepProgress,
    SweepStarted,
)
from core.lab.sweep_export import cell_json
from core.lab.sweep_runs import SweepRun, all_cells, best_cell, cell
from core.lab.sweep_store import list_sweeps, read_sweep
from core.session import Session
from tests.core.lab.costs import step_costs
from tests.core.tiny_sessions import checkpoint, load, pair

COSTS = step_costs()
PLAN = SweepPlan(
    lookaheads=(1, 2),
    temperatures=(0.0,),
    kinds=("code", "prose"),
    repeats=2,
    settings=DecodingConfig(max_new_tokens=12, ignore_eos=True),
)


def run(lookahead, ms, *, kind="code", repeat=1, emitted=10, accepted=6, tested=8):
    counts = Counts(5, 5 * lookahead, tested, accepted, tested - accepted, 2, emitted)
    places = (lookahead > 0) * lookahead
    return SweepRun(
        lookahead, 0.0, kind, kind, repeat,
        counts if lookahead else Counts(rounds=emitted, bonus=emitted, emitted=emitted),
        float(ms), (5,) * places, (4, 2)[:places], 5 if lookahead else 0,
    )  # fmt: skip


WHOLE = [
    *(run(0, 200, kind=k, repeat=r) for k in ("code", "prose") for r in (1, 2)),
    run(1, 100),
    run(1, 100, kind="prose"),
    run(1, 50, repeat=2),
    run(1, 50, kind="prose", repeat=2),
]


def test_a_speedup_is_taken_within_a_repeat_over_all_its_prompts():
    found = cell(PLAN, WHOLE, COSTS, 1, 0.0, ALL_KINDS)
    assert found.complete
    assert (found.speedup, found.speedup_low, found.speedup_high) == (3.0, 2.0, 4.0)
    assert found.ms_per_token == pytest.approx(7.5)
    assert found.runs == 4
    assert found.counts.emitted == 40
    assert found.papers_acceptance == pytest.approx(40 / (20 + 20))
    assert found.round_ms == pytest.approx(300 / 20)
    assert found.ms_128_mean == pytest.approx(128 * 7.5)


def test_half_a_repeat_counts_only_while_none_is_whole():
    half = [run(0, 200), run(1, 100)]
    assert not cell(PLAN, half, COSTS, 1, 0.0, ALL_KINDS).complete
    assert cell(PLAN, half, COSTS, 1, 0.0, ALL_KINDS).speedup == 2.0
    later = [*WHOLE[:1], *WHOLE[2:3], *WHOLE[4:6], run(0, 200, repeat=2)]
    assert cell(PLAN, [*later, run(1, 20, repeat=2)], COSTS, 1, 0.0, "all").runs == 2


def test_a_cell_is_predicted_from_the_other_lookaheads_alone():
    """Whatever its own runs are, its prediction stays; another K's moves it."""
    two = [run(2, 80), run(2, 80, kind="prose")]
    before = cell(PLAN, [*WHOLE, *two], COSTS, 1, 0.0, ALL_KINDS).predicted_speedup
    acceptance = by_place((0.8, 0.4), 0.75)
    assert acceptance is not None
    expected = predict(COSTS, acceptance, 1, greedy=True).speedup
    assert before == pytest.approx(expected)
    own = [r if r.lookahead != 1 else replace(r, accepted_at=(0,)) for r in WHOLE]
    assert cell(PLAN, [*own, *two], COSTS, 1, 0.0, "all").predicted_speedup == before
    other = [replace(r, accepted_at=(5, 5)) for r in two]
    after = cell(PLAN, [*WHOLE, *other], COSTS, 1, 0.0, ALL_KINDS).predicted_speedup
    assert after is not None
    assert after > before
    assert cell(PLAN, WHOLE, COSTS, 1, 0.0, ALL_KINDS).predicted_speedup is None


def test_a_prediction_takes_the_steps_that_were_timed_between_the_runs():
    """The machine has changed since the pair was loaded: two rows cost thrice one."""
    two = [run(2, 80), run(2, 80, kind="prose")]
    dear = replace(COSTS, target_ms=(20.0, 60.0, *COSTS.target_ms[2:]))
    fresh = [replace(r, costs=dear) if r.lookahead == 0 else r for r in WHOLE]
    acceptance = by_place((0.8, 0.4), 0.75)
    assert acceptance is not None
    found = cell(PLAN, [*fresh, *two], COSTS, 1, 0.0, ALL_KINDS).predicted_speedup
    assert found == pytest.approx(predict(dear, acceptance, 1, greedy=True).speedup)


def test_a_pooled_prediction_weighs_prompts_by_their_tokens():
    """A text of nine times the tokens takes nine times the weight, as when measured."""
    prose = replace(run(0, 1800, kind="prose"), counts=Counts(90, 0, 0, 0, 0, 90, 90))
    runs = [run(0, 200), run(2, 80), prose, run(2, 80, kind="prose", accepted=0)]
    runs[-1] = replace(runs[-1], accepted_at=(0, 0))
    fast, slow, pooled = (
        cell(PLAN, [*runs, run(1, 100, kind=kind)], COSTS, 1, 0.0, of).predicted_speedup
        for kind, of in (("code", "code"), ("prose", "prose"), ("code", ALL_KINDS))
    )
    assert pooled == pytest.approx(100 / (10 / fast + 90 / slow))


def test_an_automatic_lookahead_stands_beside_the_fixed_ones():
    plan = replace(PLAN, lookaheads=(1, AUTO))
    auto = [
        replace(run(1, 80, kind=k, repeat=r), lookahead=AUTO)
        for k in ("code", "prose")
        for r in (1, 2)
    ]
    cells = all_cells(plan, [*WHOLE, *auto], COSTS)
    assert best_cell(cells) == cells[0], "the best K is a number"
    acceptance = by_place((0.8,), 0.75)
    assert acceptance is not None
    most = max(p.speedup for p in curve(COSTS, acceptance, greedy=True))
    assert cells[1].predicted_speedup == pytest.approx(most)
    pooled = auto_results(cells)[0]
    assert (pooled.best_lookahead, pooled.best_speedup, pooled.speedup) == (1, 3.0, 2.5)
    assert pooled.share == pytest.approx(1.2)
    assert "20 % slower than the best fixed (K = 1, 3.00)" in auto_lines(cells)[0]
    assert cell_json(cells[1])["k"] == "auto"


def test_where_no_lookahead_wins_plain_decoding_is_what_auto_is_held_to():
    plan = replace(PLAN, lookaheads=(2, AUTO), kinds=("code",), repeats=1)
    runs = [run(0, 100), run(2, 200), replace(run(1, 104), lookahead=AUTO)]
    (pooled, _) = auto_results(all_cells(plan, runs, COSTS))
    assert (pooled.best_lookahead, pooled.best_speedup) == (0, 1.0)
    assert pooled.share == pooled.plain_share == pytest.approx(1.04)


def test_the_plain_baseline_is_a_cell_of_its_own():
    plan = replace(PLAN, lookaheads=(0, 1))
    plain, fast = all_cells(plan, WHOLE, COSTS)[:2]
    assert (plain.speedup, plain.predicted_speedup) == (1.0, 1.0)
    assert best_cell([plain, fast]) == fast


def test_figure_1_stands_on_the_cells_of_each_kind():
    curves = figure_curves(all_cells(PLAN, WHOLE, COSTS), COSTS)
    assert [curve.prompt_kind for curve in curves] == ["code", "prose"]
    assert curves[0].ms_128 == (pytest.approx(128 * 7.5), None)
    assert curves[0].acceptance == pytest.approx(0.75)
    assert len(curves[0].closed_ms_128) == 2


def test_the_papers_curves_meet_what_the_paper_prints():
    for paper in CURVES:
        assert dict(paper.printed_share)[7] == pytest.approx(paper.share()[7], abs=0.01)
        for k, ms in paper.printed_ms_128:
            assert paper.ms_128()[k] == pytest.approx(ms, rel=0.06)
    assert HUMAN_EVAL.ms_128().index(min(HUMAN_EVAL.ms_128())) in (6, 7)
    assert XSUM.ms_128().index(min(XSUM.ms_128())) in (3, 4)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"lookaheads": ()}, "--k has no value"),
        ({"lookaheads": (17,)}, "--k is 17"),
        ({"temperatures": (9.0,)}, "--temperature is 9"),
        ({"repeats": 0}, "--repeats is 0"),
        ({"kinds": ()}, "without a prompt kind"),
    ],
)
def test_an_empty_or_impossible_grid_is_one_sentence(changes, words):
    with pytest.raises(ConfigurationError, match=words):
        replace(PLAN, **changes)


# --- whole sweeps of a tiny pair -----------------------------------------------------


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    root = tmp_path_factory.mktemp("swept")
    draft = checkpoint(root / "draft", layers=1, seed=1)
    made = Session()
    load(made, pair(checkpoint(root / "target"), draft))
    yield made
    made.close()


def swept(session, plan, out, stop_after=None):
    control, seen = Control(plan.settings), []
    for event in session.sweep(plan, control, out=out):
        seen.append(event)
        if stop_after is not None and len(seen) == stop_after:
            control.stop()
    return seen


@pytest.mark.slow
def test_an_interrupted_sweep_goes_on_where_it_ended(session, tmp_path):
    """The rest is decoded once, and what was kept stays as it was."""
    out = tmp_path / "sweep.jsonl"
    first = swept(session, PLAN, out, stop_after=14)
    assert isinstance(first[0], SweepStarted)
    assert isinstance(first[-1], SweepFinished)
    assert first[-1].cancelled
    kept = read_sweep(out).runs
    assert 3 <= len(kept) < 12
    with out.open("a") as file:
        file.write('{"lookahead": 1, "temper')  # as if the power had gone
    second = swept(session, PLAN, out)
    assert second[0].done_runs == len(kept)
    assert not second[-1].cancelled
    runs = read_sweep(out).runs
    assert runs[: len(kept)] == kept
    assert len(runs) == second[0].total_runs == 12
    counted = [e for e in second if isinstance(e, SweepProgress) and e.repeat]
    assert len(counted) == 12 - len(kept)
    assert all(c.complete for c in second[-1].cells)
    assert swept(session, PLAN, out)[-1].cells == second[-1].cells


@pytest.mark.slow
def test_a_sweep_measures_what_single_runs_decode(session, tmp_path):
    """Counts add up, tokens do not depend on K, others' files are refused."""
    seen = swept(session, PLAN, None)
    cells = [e.cell for e in seen if isinstance(e, CellFinished)]
    assert {c.lookahead for c in cells} == {1, 2}
    assert all(c.counts.emitted == 12 * c.runs for c in cells)
    assert seen[0].file.endswith(".jsonl")
    stored = list_sweeps()
    assert [s.path.name for s in stored] == [seen[0].file]
    assert str(tmp_path) not in stored[0].path.read_text()
    pooled = [c for c in stored[0].cells() if c.prompt_kind == ALL_KINDS]
    assert [c.lookahead for c in pooled] == [0, 1, 2]
    other = replace(PLAN, settings=replace(PLAN.settings, top_p=0.5))
    with pytest.raises(ConfigurationError, match="holds the sweep of another pair"):
        swept(session, other, stored[0].path)


@pytest.mark.slow
def test_the_command_prints_its_cells(tmp_path, capsys):
    target = checkpoint(tmp_path / "target")
    table = tmp_path / "cells.csv"
    options = ["--target", str(target), "--draft", "lookup", "--k", "0,2"]
    options += ["--temperature", "0,1", "--kinds", "code", "--repeats", "1"]
    options += ["--max-new-tokens", "8", "--ignore-eos", "--csv", str(table), "--json"]
    assert cli.main(["sweep", *options]) == 0
    printed = json.loads(capsys.readouterr().out)
    first = printed["cells"][1]
    assert (first["k"], first["temperature"], first["prompt_kind"]) == (2, 0.0, "all")
    assert first["counts"]["emitted"] == 8
    assert first["speedup"] > 0
    assert first["ms_per_token"] > 0
    assert len(printed["cells"]) == 8
    assert len(table.read_text().splitlines()) == 9
