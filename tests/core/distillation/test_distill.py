"""A whole distillation of a tiny target: what comes out, and every way it can end."""

from __future__ import annotations

import errno
import json
import shutil
import tempfile
from collections import namedtuple
from pathlib import Path

import pytest

from core.checkpoints.inspection import inspect_checkpoint
from core.cli import main as cli
from core.config import ModelConfig
from core.control import Control
from core.distillation import collection, recipe, remeasuring, store
from core.distillation import folder as folders
from core.distillation.collecting import CollectingSettings
from core.distillation.measuring import best_lookahead
from core.distillation.plan import (
    DistillFinished,
    DistillPlan,
    DistillProgress,
    LookaheadFigures,
    Stage,
)
from core.distillation.source import read_source
from core.errors import ConfigurationError, CoreError, ModelLoadError
from core.session import Session
from tests.core.checkpoints.tiny_checkpoints import check_sentence
from tests.core.tiny_sessions import checkpoint, decode, load, pair, plain

pytestmark = pytest.mark.slow

SHAPE = {
    "hidden_size": 32,
    "num_hidden_layers": 1,
    "intermediate_size": 48,
    "num_attention_heads": 2,
    "draft_head_rows": 128,
}
SHORT = CollectingSettings(rows=12, max_new_tokens=16, kept=8)


@pytest.fixture(autouse=True)
def _short_texts(monkeypatch):
    monkeypatch.setattr(recipe, "CollectingSettings", lambda **more: SHORT)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Folders and files that the distillations start from."""
    root = tmp_path_factory.mktemp("distill")
    checkpoint(root / "target")
    (root / "target" / "README.md").write_text("---\nlicense: mit\n---\n")
    (root / "shape.json").write_text(json.dumps(SHAPE))
    prompts = [f"Tell me about the number {i}." for i in range(30)]
    (root / "prompts.txt").write_text("\n".join(prompts))
    return root


def plan(made: Path, out: Path, **more) -> DistillPlan:
    given = {
        "size": str(made / "shape.json"),
        "prompts": str(made / "prompts.txt"),
        "minutes": 0.03,
        **more,
    }
    return DistillPlan(ModelConfig(str(made / "target"), "cpu"), str(out), **given)


def distilled(wanted: DistillPlan, control: Control | None = None) -> list:
    return list(Session().distill(wanted, control or Control()))


@pytest.fixture(scope="module")
def done(made, tmp_path_factory):
    """One finished distillation: its folder and its events."""
    out = tmp_path_factory.mktemp("done") / "draft"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recipe, "CollectingSettings", lambda **more: SHORT)
        return out, distilled(plan(made, out))


def test_the_draft_fits_its_target_and_decodes_losslessly(made, done):
    out, _ = done
    target, session = made / "target", Session()
    load(session, pair(target, out))
    assert decode(session).tokens == plain(target).tokens
    facts = inspect_checkpoint(out)
    assert (facts.draft_head_size, facts.licence) == (128, "mit")
    assert facts.num_layers == 1


def test_progress_tells_stages_loss_and_acceptance(done):
    out, events = done
    told = [e for e in events if isinstance(e, DistillProgress)]
    assert list(dict.fromkeys(e.stage for e in told)) == list(Stage)
    shares = [e.fraction for e in told if e.fraction is not None]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert any(e.loss for e in told)
    assert any(e.acceptance for e in told)
    end = events[-1]
    assert isinstance(end, DistillFinished)
    assert (end.folder, end.cancelled) == (str(out), False)
    assert end.figures.cost_ratio > 0
    kinds = {(k.kind, k.temperature) for k in end.figures.kinds}
    assert kinds == {("user", 0.0), ("user", 1.0)}


def test_the_cards_say_how_it_was_made_and_no_path(made, done):
    out, events = done
    text = (out / "README.md").read_text()
    card = json.loads((out / "draftrace.json").read_text())
    for word in (
        "was chosen by short races",
        "license: mit",
        "--size shape.json",
        "held out",
        "forward KL",
        "c =",
    ):
        assert word in text, word
    assert card["cost_ratio"] == events[-1].figures.cost_ratio
    assert card["seconds"].keys() == {"collecting", "training", "measuring"}
    for file in out.glob("*.json"):
        assert str(made) not in file.read_text(), file.name
    assert str(made) not in text
    assert str(out.parent) not in text


def test_a_finished_draft_is_measured_again_and_nothing_else_changes(made, done):
    out, _ = done
    before = {f.name: f.read_bytes() for f in out.iterdir() if f.is_file()}
    card = json.loads(before["draftrace.json"])
    *_, end = distilled(plan(made, out, measure=2))
    after = json.loads((out / "draftrace.json").read_text())
    assert after["figures"] != card["figures"]
    assert after["figures"]["lookahead"] == end.figures.lookahead
    assert {k["prompts"] for k in after["figures"]["kinds"]} == {2}
    same = after.keys() - {"figures", "cost_ratio"}
    assert {key: after[key] for key in same} == {key: card[key] for key in same}
    changed = {n for n, old in before.items() if (out / n).read_bytes() != old}
    assert changed == {"draftrace.json", "README.md"}


@pytest.mark.parametrize("name", ["demo", "demo-draft", "demo-layers"])
def test_a_folder_called_as_a_part_of_the_demo_is_that_folder(
    made, done, tmp_path, monkeypatch, name
):
    shutil.copytree(done[0], tmp_path / name)
    monkeypatch.chdir(tmp_path)
    *_, end = distilled(plan(made, Path(name), measure=1))
    assert end.figures is not None, "another model was measured, or none"


def test_measuring_again_needs_a_draft_of_this_target(made, done, tmp_path):
    out = Path(shutil.copytree(done[0], tmp_path / "draft"))
    with pytest.raises(ConfigurationError, match="holds no draft"):
        distilled(plan(made, tmp_path, measure=1))
    card = json.loads((out / "draftrace.json").read_text())
    (out / "draftrace.json").write_text(json.dumps({**card, "target": "another"}))
    with pytest.raises(ConfigurationError, match="made for another"):
        distilled(plan(made, out, measure=1))


def test_a_card_that_could_not_be_written_is_told_before_the_measuring(
    made, done, monkeypatch
):
    monkeypatch.chdir(done[0].parent)  # sentences name the folder as it was given

    def read_only(*_, **__):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(tempfile, "TemporaryDirectory", read_only)
    monkeypatch.setattr(
        remeasuring, "measured_draft", lambda *_: pytest.fail("it was measured")
    )
    error = refusal(plan(made, Path(done[0].name), measure=1))
    assert isinstance(error, ModelLoadError)
    check_sentence(error, done[0].name, "cannot be written")


def test_k_is_the_best_of_those_tried_over_both_temperatures(done):
    figures = done[1][-1].figures
    assert [tried.lookahead for tried in figures.tried] == [1, 2, 3, 4]
    assert figures.lookahead == best_lookahead(figures.tried)
    tried = [
        LookaheadFigures(1, (1.1, 1.1)),
        LookaheadFigures(2, (1.5, 1.2)),
        LookaheadFigures(3, (1.6, 1.0)),
        LookaheadFigures(4, (None, None)),
    ]
    assert best_lookahead(tried) == 2


def test_resuming_keeps_the_texts_and_refuses_other_settings(made, done, tmp_path):
    out = Path(shutil.copytree(done[0], tmp_path / "draft"))
    kept = {f.name: f.read_bytes() for f in (out / "work" / "texts").iterdir()}
    for change in ({"seed": 3}, {"size": "tiny"}, {"prompts": ""}):
        with pytest.raises(ConfigurationError) as caught:
            distilled(plan(made, out, resume=True, **change))
        assert next(iter(change)) in str(caught.value)
    longer = done[1][-1].seconds / 30  # twice the time, however slow the machine is
    *_, end = distilled(plan(made, out, resume=True, minutes=longer))
    assert end.tokens > done[1][-1].tokens
    assert end.seconds > done[1][-1].seconds
    for name, content in kept.items():
        assert (out / "work" / "texts" / name).read_bytes() == content


class StopAt(Control):
    """Stops once a stage was told of."""

    def __init__(self, stage: Stage) -> None:
        super().__init__()
        self._stage = stage

    def pull(self, wanted: DistillPlan) -> DistillFinished:
        for event in Session().distill(wanted, self):
            if getattr(event, "stage", None) is self._stage:
                self.stop()
        assert isinstance(event, DistillFinished)
        return event


@pytest.mark.parametrize("stage", [Stage.COLLECTING, Stage.TRAINING, Stage.MEASURING])
def test_cancelling_keeps_what_there_is(made, tmp_path, stage):
    out = tmp_path / "draft"
    end = StopAt(stage).pull(plan(made, out))
    assert end.cancelled
    assert end.figures is None
    if stage is Stage.COLLECTING:
        assert end.folder == ""
        assert not (out / "config.json").exists()
    else:
        assert end.folder == str(out)
        assert inspect_checkpoint(out).problem is None
        assert "Nothing was measured" in (out / "README.md").read_text()


def refusal(wanted: DistillPlan) -> CoreError:
    with pytest.raises(CoreError) as caught:
        distilled(wanted)
    return caught.value


def test_a_folder_in_use_is_left_alone(made, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # sentences name the folder as it was given
    out = Path("mine")
    out.mkdir()
    (out / "thesis.txt").write_text("years of work")
    check_sentence(refusal(plan(made, out)), "mine", "not empty")
    error = refusal(plan(made, out, resume=True))
    check_sentence(error, "mine", "no distillation")
    check_sentence(refusal(plan(made, out / "thesis.txt")), "thesis.txt", "a file")
    assert [f.name for f in out.iterdir()] == ["thesis.txt"]
    assert (out / "thesis.txt").read_text() == "years of work"


def test_a_target_without_a_tokenizer_is_named(made, tmp_path):
    target = tmp_path / "bare"
    shutil.copytree(made / "target", target)
    for file in target.glob("tokenizer*"):
        file.unlink()
    wanted = DistillPlan(ModelConfig(str(target)), str(tmp_path / "out"))
    check_sentence(refusal(wanted), "bare", "tokenizer")
    assert not (tmp_path / "out").exists()


def test_a_full_disk_is_one_sentence_before_and_in_between(made, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    usage = namedtuple("usage", "total used free")
    with monkeypatch.context() as patch:
        patch.setattr(folders.shutil, "disk_usage", lambda path: usage(9, 9, 1000))
        check_sentence(refusal(plan(made, Path("small"))), "small", "full", "1 kB")
    assert not Path("small").exists()

    def no_room(*arguments, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(store, "save_file", no_room)
        error = refusal(plan(made, Path("later")))
    assert isinstance(error, ModelLoadError)
    check_sentence(error, "later", "full", "resume")
    end = StopAt(Stage.TRAINING).pull(plan(made, Path("later"), resume=True))
    assert end.folder == "later"


BAD_PLANS = {
    "no time": ({"minutes": 0.0}, "minutes"),
    "not a number": ({"minutes": float("nan")}, "minutes"),
    "no size": ({"size": "huge"}, "tiny"),
}


def test_a_file_without_a_shape_is_no_size(tmp_path):
    (tmp_path / "other.json").write_text('{"name": "Ada"}')
    with pytest.raises(ConfigurationError, match="says nothing of a shape"):
        recipe.shape_of(str(tmp_path / "other.json"))


@pytest.mark.parametrize("name", BAD_PLANS)
def test_a_plan_outside_its_limits_is_refused(made, tmp_path, name):
    change, word = BAD_PLANS[name]
    with pytest.raises(ConfigurationError, match=word):
        plan(made, tmp_path / "out", **change)


@pytest.mark.parametrize(
    "change",
    [
        {"num_attention_heads": 5},
        {"num_key_value_heads": 3, "num_attention_heads": 2},
        {"hidden_size": "wide"},
        {"num_hidden_layers": 0},
    ],
)
def test_a_shape_that_cannot_be_built_is_refused(made, tmp_path, change):
    file = tmp_path / "shape.json"
    file.write_text(json.dumps(SHAPE | change))
    with pytest.raises(ConfigurationError) as caught:
        recipe.shape_of(str(file))
    check_sentence(caught.value, "shape.json")


def test_the_command_prints_one_object(made, tmp_path, capsys):
    words = ["distill", str(made / "target"), "--out", str(tmp_path / "draft")]
    words += ["--size", str(made / "shape.json"), "--minutes", "0.03", "--json"]
    words += ["--prompts", str(made / "prompts.txt"), "--device", "cpu"]
    assert cli(words) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["folder"] == str(tmp_path / "draft")
    assert found["cost_ratio"] > 0
    assert cli(words) == 2
    assert "not empty" in capsys.readouterr().err


def test_a_sitting_after_long_collecting_only_teaches(made, tmp_path):
    out = tmp_path / "draft"
    first = StopAt(Stage.TRAINING).pull(plan(made, out))
    seconds = {"collecting": 60.0, "training": 0.0}  # ten times this sitting's budget
    (out / "work" / "seconds.json").write_text(json.dumps(seconds))
    *_, end = distilled(plan(made, out, resume=True))
    assert end.tokens == first.tokens > 0
    assert end.acceptance is not None


def test_texts_end_where_the_time_is_up_and_are_kept(made, tmp_path, monkeypatch):
    monkeypatch.setattr(collection, "LEAST_TOKENS", 4)
    config = ModelConfig(str(made / "target"), "cpu")
    source = read_source(inspect_checkpoint(made / "target"), config)
    prompts = recipe.recipe_of(plan(made, tmp_path / "out")).prompts
    texts = collection.Collection(source, prompts, SHORT, tmp_path, held_out=False)
    late = texts.grow(lambda: False, lambda: True, lambda number, batch: None)
    assert next(late) == texts.tokens > 0
    assert texts.store.read(0).lengths.max() == 4
    again = collection.Collection(source, prompts, SHORT, tmp_path, held_out=False)
    assert again.tokens == texts.tokens
    assert not any(prompts[i].held_out for i in texts.store.read(0).prompts.tolist())
