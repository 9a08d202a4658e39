"""The pair doctor on tiny checkpoints: what it judges, tries, ranks and prints."""

from __future__ import annotations

import json

import pytest

from core import cli
from core.checkpoints import loading
from core.config import DecodingConfig, DrafterKind, ModelConfig
from core.control import Control
from core.errors import ConfigurationError, ModelLoadError
from core.events import LoadProgress
from core.lab.doctor_events import (
    NOT,
    DoctorFinished,
    DoctorPlan,
    DoctorStarted,
    DraftProbed,
    DraftReport,
    advice_on,
    ranked,
)
from core.lab.pair_doctor import probe_prompts
from core.session import Session
from tests.core.checkpoints.tiny_checkpoints import byte_tokens
from tests.core.tiny_sessions import checkpoint, load, pair


def draft(name, **facts):
    return DraftReport(name, name, facts.pop("fit", "fits"), **facts)


def test_the_fastest_comes_first_then_the_cheapest_and_the_unfit_last():
    slow = draft("slow", predicted_speedup=1.1, best_lookahead=1, cost_ratio=0.1)
    fast = draft("fast", predicted_speedup=1.6, best_lookahead=4, cost_ratio=0.3)
    cheap, dear = draft("cheap", cost_ratio=0.1), draft("dear", cost_ratio=0.5)
    unfit = draft("unfit", fit=NOT, cost_ratio=0.01)
    found = ranked((unfit, dear, cheap, slow, fast))
    assert [d.name for d in found] == ["fast", "slow", "cheap", "dear", "unfit"]
    assert advice_on(found) == (
        "fast at K = 4 should be 1.60 times as fast as plain decoding (PREDICTED)."
    )


def test_where_nothing_wins_or_fits_the_advice_says_so():
    hopeless = draft("bad", predicted_speedup=1.0, best_lookahead=0)
    assert "use K = 0" in advice_on((hopeless,))
    assert "No checkpoint" in advice_on((draft("other", fit=NOT),))
    assert "probe" in advice_on((draft("unknown", cost_ratio=0.1),))


def test_numbers_out_of_range_are_refused():
    for wrong in ({"prompts": 0}, {"prompts": 99}, {"tokens": 1}):
        with pytest.raises(ConfigurationError):
            DoctorPlan(ModelConfig("demo"), **wrong)


def test_probes_take_one_prompt_of_each_kind_first():
    kinds = [prompt.kind for prompt in probe_prompts(6)]
    assert len(set(kinds)) == 6
    assert len(probe_prompts(8)) == 8


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    """A target, a small draft and one of other tokens."""
    root = tmp_path_factory.mktemp("shelf")
    checkpoint(root / "target", layers=2)
    checkpoint(root / "small", layers=1, seed=1)
    shifted = {token: (i + 1) % 258 for token, i in byte_tokens().items()}
    checkpoint(root / "other", layers=1, seed=2, vocab=shifted)
    return root


def examined(shelf, session=None, *, stop_after=None, **how):
    target = ModelConfig(str(shelf / "target"), "cpu", "float32")
    plan = DoctorPlan(target, (str(shelf),), **{"prompts": 1, "tokens": 16, **how})
    control, seen = Control(DecodingConfig()), []
    for event in (session or Session()).doctor(plan, control):
        seen.append(event)
        if stop_after is not None and isinstance(event, stop_after):
            control.stop()
    return seen


def by_name(drafts):
    return {d.name: d for d in drafts}


def test_without_a_probe_nothing_is_loaded_and_costs_come_from_the_files(shelf):
    seen = examined(shelf)
    assert not any(isinstance(e, DraftProbed) for e in seen)
    (finished,) = [e for e in seen if isinstance(e, DoctorFinished)]
    found = by_name(finished.drafts)
    assert 0 < found["small"].cost_ratio < 1
    assert found["target"].cost_ratio == 1.0
    assert found["Prompt lookup"].fits
    assert not found["other"].fits
    assert "id " in found["other"].sentence, "the exact reason names an id"
    assert found["small"].predicted_speedup is None
    assert finished.drafts.index(found["other"]) > finished.drafts.index(found["small"])


@pytest.mark.slow
def test_a_probe_measures_every_draft_that_fits_and_ranks_it(shelf):
    seen = examined(shelf, probe=True)
    (started,) = [e for e in seen if isinstance(e, DoctorStarted)]
    probed = [e.draft for e in seen if isinstance(e, DraftProbed)]
    assert len(probed) == sum(d.fits for d in started.drafts)
    finished = seen[-1]
    assert isinstance(finished, DoctorFinished)
    small = by_name(finished.drafts)["small"]
    assert small.probed
    assert small.tested > 0
    assert 0 <= small.acceptance_rate <= 1
    assert small.predicted_speedup >= 1.0, "K = 0 is among the choices"
    speeds = [d.predicted_speedup for d in finished.drafts if d.probed]
    assert speeds == sorted(speeds, reverse=True)
    assert any(isinstance(e, LoadProgress) and e.fraction for e in seen)


@pytest.mark.slow
def test_a_stopped_probe_keeps_what_it_found_and_the_pair_in_memory(shelf):
    session = Session()
    load(session, pair(shelf / "target"))
    before = session.pair
    seen = examined(shelf, session, probe=True, stop_after=DraftProbed)
    finished = seen[-1]
    assert isinstance(finished, DoctorFinished)
    assert finished.cancelled
    assert sum(d.probed for d in finished.drafts) == 1
    assert session.pair == before
    assert session.pair.drafter is DrafterKind.LOOKUP


@pytest.mark.slow
def test_what_is_not_the_fault_of_a_draft_ends_the_search(shelf, monkeypatch):
    for wrong, named in (({"temperature": 9.0}, "Temperature is 9"), ({}, "abacus")):
        device = "cpu" if wrong else "abacus"
        target = ModelConfig(str(shelf / "target"), device, "float32")
        plan = DoctorPlan(target, (str(shelf),), probe=True, **wrong)
        with pytest.raises(ConfigurationError, match=named):
            list(Session().doctor(plan, Control()))

    def broken(config, *_, **__):
        raise ModelLoadError(f"{config.reference} is broken.")

    monkeypatch.setattr(loading, "load_model", broken)
    with pytest.raises(ModelLoadError, match="target is broken"):
        examined(shelf, probe=True)


@pytest.mark.slow
def test_the_command_prints_the_drafts(shelf, capsys):
    asked = ["doctor", "--target", str(shelf / "target"), "--places", str(shelf)]
    assert cli.main([*asked, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    names = [d["name"] for d in printed["drafts"]]
    assert {"small", "other", "Prompt lookup"} <= set(names)
    assert [d["rank"] for d in printed["drafts"]] == list(range(1, len(names) + 1))
    assert cli.main(asked) == 0
    text = capsys.readouterr().out
    assert "does not fit" in text
    assert "probe to know what it brings" in text


@pytest.mark.parametrize(
    "given",
    [
        ["--probe"],
        ["--places", "here"],
        ["--prompts", "2"],
        ["--device", "cpu"],
        ["--temperature", "1"],
    ],
)
def test_what_asks_for_a_draft_needs_a_target(given, capsys):
    assert cli.main(["doctor", *given]) == cli.BAD_INPUT
    sentence = f"{given[0]} needs a target; give --target or --demo."
    assert sentence in capsys.readouterr().err
