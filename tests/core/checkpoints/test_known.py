"""The list of checkpoints to choose from."""

from __future__ import annotations

import os
import shutil

from core.checkpoints.facts import CheckpointFacts, CheckpointKind
from core.checkpoints.known import known_checkpoints
from core.demo_pair import shipped_draft


def own_checkpoints() -> list[CheckpointFacts]:
    """Return what is listed beside the demo's checkpoints."""
    return [f for f in known_checkpoints() if f.kind is not CheckpointKind.DEMO]


def test_the_demo_is_always_listed_with_its_cure():
    target, *drafts = known_checkpoints()
    assert (target.kind, target.reference) == (CheckpointKind.DEMO, "demo")
    own = ["demo-draft"] if shipped_draft() else []
    assert [draft.reference for draft in drafts] == [*own, "demo-layers"]
    assert target.problem is not None
    assert "93 MB" in target.problem


def test_own_folders_and_files_are_listed(tmp_path, whole, whole_gguf, monkeypatch):
    models = tmp_path / "models"
    shutil.copytree(whole, models / "one")
    shutil.copy(whole_gguf, models / "two.gguf")
    (models / "notes").mkdir()
    paths = os.pathsep.join([str(models), str(tmp_path / "nowhere"), str(whole), ""])
    monkeypatch.setenv("DRAFTRACE_MODELS", paths)
    found = own_checkpoints()
    assert [f.name for f in found] == ["one", "two", "tiny-llama"]
    assert [f.problem for f in found] == [None, None, None]


def test_one_bad_entry_does_not_hide_the_others(tmp_path, whole, monkeypatch):
    models = tmp_path / "models"
    shutil.copytree(whole, models / "good")
    shutil.copytree(whole, models / "bad")
    (models / "bad" / "config.json").write_text("{")
    (models / "evil.gguf").mkdir()
    monkeypatch.setenv("DRAFTRACE_MODELS", str(models))
    found = {f.name: f.problem for f in own_checkpoints()}
    assert found["good"] is None
    assert "config.json" in (found["bad"] or "")
    assert found["evil.gguf"]


def test_hub_cache_is_listed(tmp_path, whole):
    snapshots = tmp_path / "hub" / "models--someone--tiny" / "snapshots"
    snapshots.mkdir(parents=True)
    shutil.copytree(whole, snapshots / "abc")
    (found,) = own_checkpoints()
    assert (found.kind, found.reference) == (CheckpointKind.HUB, "someone/tiny")
    assert (found.name, found.problem) == ("tiny", None)
