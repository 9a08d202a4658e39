"""The model hub: its cache on this machine, and fetching when asked."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tiny_checkpoints import check_sentence

from core.checkpoints import hub, hub_cache
from core.checkpoints.progress import Cancelled, Work
from core.errors import ModelLoadError


def test_cache_folder_follows_the_switches(monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", "/somewhere/hub")
    assert hub_cache.hub_cache_folder() == Path("/somewhere/hub")
    monkeypatch.delenv("HF_HUB_CACHE")
    monkeypatch.setenv("HF_HOME", "/elsewhere")
    assert hub_cache.hub_cache_folder() == Path("/elsewhere/hub")


@pytest.mark.parametrize(
    "text", ["", "../x", "a/b/c", "/a/b", "a b", "a/", "C:\\x", "a/b.gguf"]
)
def test_paths_are_no_hub_ids(text):
    assert not hub_cache.is_hub_id(text)


@pytest.mark.parametrize("switch", ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"])
def test_offline_switches_are_obeyed(switch, monkeypatch):
    monkeypatch.setenv(switch, "1")
    monkeypatch.setattr(hub, "_in_child", pytest.fail)
    with pytest.raises(ModelLoadError) as caught:
        hub.download_checkpoint("someone/tiny", Work())
    check_sentence(caught.value, "someone/tiny")


def _sends_files(hub_id, cache, answer):
    answer.send((True, [("config.json", 10, True), ("model.safetensors", 90, False)]))


def _sends_no_weights(hub_id, cache, answer):
    answer.send((True, [("config.json", 10, False)]))


def _sends_nothing(hub_id, cache, answer):
    answer.close()


def _hangs(hub_id, cache, answer):
    import time

    time.sleep(600)


def _makes_snapshot(hub_id, cache, answer):
    folder = Path(cache) / "models--someone--tiny" / "snapshots" / "abc"
    folder.mkdir(parents=True)
    (folder.parent.parent / "blobs").mkdir()
    answer.send((True, str(folder)))


@pytest.mark.slow
def test_files_are_listed_then_fetched(monkeypatch):
    monkeypatch.setattr(hub, "_list_files", _sends_files)
    monkeypatch.setattr(hub, "_fetch_files", _makes_snapshot)
    assert hub.download_size("someone/tiny", Work()) == 90
    folder = hub.download_checkpoint("someone/tiny", Work())
    assert folder.name == "abc"


@pytest.mark.slow
def test_model_without_safetensors_is_refused(monkeypatch):
    monkeypatch.setattr(hub, "_list_files", _sends_no_weights)
    with pytest.raises(ModelLoadError) as caught:
        hub.download_checkpoint("someone/tiny", Work())
    check_sentence(caught.value, "someone/tiny", "safetensors")


@pytest.mark.slow
def test_full_disk_is_told_before_fetching(monkeypatch):
    monkeypatch.setattr(hub, "_list_files", _sends_files)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: type("U", (), {"free": 5}))
    with pytest.raises(ModelLoadError) as caught:
        hub.download_checkpoint("someone/tiny", Work())
    check_sentence(caught.value, "someone/tiny", "free")


def test_transfer_is_ended_when_cancelled(monkeypatch):
    monkeypatch.setattr(hub, "_list_files", _hangs)
    answers = iter([False, False, True])
    with pytest.raises(Cancelled):
        hub.download_checkpoint("someone/tiny", Work(should_stop=lambda: next(answers)))


@pytest.mark.slow
def test_child_that_dies_is_one_sentence(monkeypatch):
    monkeypatch.setattr(hub, "_list_files", _sends_nothing)
    with pytest.raises(ModelLoadError) as caught:
        hub.download_checkpoint("someone/tiny", Work())
    check_sentence(caught.value, "someone/tiny")


@pytest.mark.parametrize(
    ("kind", "word"),
    [("RepositoryNotFoundError", "no model"), ("ConnectError", "network")],
)
def test_refusals_are_one_sentence_without_the_token(kind, word):
    error = hub._failed("someone/tiny", kind, "Bearer hf_abcdefghijklmnopqrstu")
    check_sentence(error, "someone/tiny", word)
    assert "abcdef" not in error.detail
