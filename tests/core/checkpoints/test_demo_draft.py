"""The demo target's own draft: shipped without a tokenizer, default where it is."""

from __future__ import annotations

import argparse
import shutil

import pytest
from tiny_checkpoints import check_sentence, make_llama

import resources
from core.checkpoints import demo
from core.checkpoints.draft_head import write_draft_head
from core.checkpoints.inspection import inspect_checkpoint
from core.checkpoints.known import known_checkpoints
from core.checkpoints.loading import load_model
from core.checkpoints.pairing import judge_pair
from core.cli.options import pair_from
from core.config import DrafterKind, ModelConfig
from core.demo_pair import demo_pair, shipped_draft
from core.errors import ModelLoadError


@pytest.fixture
def draft(tmp_path, monkeypatch):
    """A draft as it would be shipped: weights, config, list of ids, card."""
    folder = make_llama(tmp_path / "draft", layers=1, hidden_size=16)
    write_draft_head(folder, range(0, 200, 2))
    found = folder / "config.json"
    monkeypatch.setattr(resources, "path", lambda name: found)
    return folder


@pytest.fixture
def fetched(whole, monkeypatch):
    """The tiny checkpoint as the demo target."""
    monkeypatch.setattr(demo, "local_demo", lambda: whole)
    return whole


def _options(**given) -> argparse.Namespace:
    nothing = {"demo": False, "target": None, "draft": None}
    return argparse.Namespace(**nothing | given, device="cpu", dtype="float32")


def test_it_is_the_default_wherever_the_demo_pair_is(draft):
    assert demo_pair().draft == ModelConfig("demo-draft")
    for given in ({}, {"demo": True}, {"target": "demo"}):
        pair = pair_from(_options(**given))
        assert pair.draft == ModelConfig("demo-draft", "cpu", "float32")
    assert pair_from(_options(draft="lookup")).drafter is DrafterKind.LOOKUP
    assert pair_from(_options(target="other")).drafter is DrafterKind.LOOKUP


def test_without_it_prompt_lookup_drafts(monkeypatch):
    def missing(name):
        raise resources.UnknownResourceError(name)

    monkeypatch.setattr(resources, "path", missing)
    assert shipped_draft() is None
    assert demo_pair().drafter is DrafterKind.LOOKUP
    with pytest.raises(ModelLoadError) as caught:
        inspect_checkpoint("demo-draft")
    check_sentence(caught.value, "prompt lookup")
    assert "demo-draft" not in [f.reference for f in known_checkpoints()]


def test_its_tokenizer_is_the_demo_targets(draft, fetched):
    facts = inspect_checkpoint("demo-draft")
    assert facts.problem is None
    assert facts.draft_head_size == 100
    verdict = judge_pair(inspect_checkpoint("demo"), facts)
    assert verdict.fits
    assert not any("both" in note for note in verdict.notes)
    loaded = load_model(ModelConfig("demo-draft", "cpu", "float32"), drafts=True)
    assert loaded.model.facts.name.endswith("-draft")
    assert len(loaded.head_ids or ()) == 100
    assert loaded.tokenizer.encode("a cat")
    assert loaded.eos_ids == (0,)
    assert "demo-draft" in [f.reference for f in known_checkpoints()]


def test_it_waits_for_the_target_to_be_fetched(draft, monkeypatch):
    monkeypatch.setattr(demo, "local_demo", lambda: None)
    with pytest.raises(ModelLoadError) as caught:
        inspect_checkpoint("demo-draft")
    check_sentence(caught.value, "93 MB")


def test_a_copy_of_it_with_the_tokenizer_is_an_ordinary_checkpoint(draft, fetched):
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(fetched / name, draft / name)
    assert judge_pair(inspect_checkpoint(fetched), inspect_checkpoint(draft)).fits
