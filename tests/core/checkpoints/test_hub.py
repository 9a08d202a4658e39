"""The model hub: its cache on this machine, and fetching when asked."""

from __future__ import annotations

from pathlib import Path

import pytest
from tiny_checkpoints import check_sentence

from core.checkpoints import hub, hub_cache
from core.checkpoints.hub_failures import hub_failure
from core.checkpoints.progress import Work
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
    monkeypatch.setattr(hub, "_ask_child", pytest.fail)
    for ask in (hub.download_checkpoint, hub.download_size):
        with pytest.raises(ModelLoadError) as caught:
            ask("someone/tiny", Work())
        check_sentence(caught.value, "someone/tiny", "HF_HUB_OFFLINE")
    with pytest.raises(ModelLoadError) as caught:
        hub.search_hub("tiny", Work())
    check_sentence(caught.value, "tiny", "HF_HUB_OFFLINE")


def test_time_left_is_told_from_what_arrived_now():
    """Bytes that were here before the transfer began do not make it look fast."""
    rate = hub.Rate(kept=50_000_000, now=0.0)
    assert rate.words(51_000_000, 100_000_000, now=0.5) == ""
    words = rate.words(60_000_000, 100_000_000, now=5.0)
    assert words == " · 2 MB/s · 20 s left"
    assert rate.words(60_000_000, 10**10, now=5.0).endswith("· 83 min left")
    assert rate.words(60_000_000, 10**12, now=5.0).endswith("· 138.9 h left")


@pytest.mark.parametrize(
    ("kinds", "status", "word"),
    [
        (["RepositoryNotFoundError"], 401, "not on the hub"),
        (["ConnectError", "TransportError"], None, "check the network"),
        (["OSError", "errno 28"], None, "disk"),
        (["child ended"], None, "child ended"),
    ],
)
def test_refusals_are_one_sentence_without_the_token(kinds, status, word):
    message = "Bearer hf_abcdefghijklmnopqrstu"
    error = hub_failure("The model someone/tiny", kinds, status, message)
    check_sentence(error, "someone/tiny", word)
    assert "abcdef" not in error.detail
