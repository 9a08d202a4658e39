"""``draftrace models`` and ``draftrace get`` as a person at a terminal sees them."""

from __future__ import annotations

import json

import pytest

from core import cli
from tests.core.checkpoints.tiny_checkpoints import make_gguf


@pytest.fixture(autouse=True)
def _no_hub(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))


@pytest.fixture
def folder(tmp_path):
    """A maker's folder below the person's own, with a good and a broken file."""
    maker = tmp_path / "models" / "maker"
    maker.mkdir(parents=True)
    make_gguf(maker / "good.gguf")
    (maker / "cut.gguf").write_bytes((maker / "good.gguf").read_bytes()[:4000])
    return tmp_path / "models"


def test_models_are_listed_by_place_with_what_they_are_or_lack(folder, capsys):
    assert cli.main(["models", str(folder)]) == cli.DONE
    lines = capsys.readouterr().out.splitlines()
    below = lines[lines.index(str(folder)) + 1 :]
    assert below[0].split()[:1] == ["cut.gguf"]
    assert "cut short" in below[0]
    assert below[1].split()[0] == "good"
    assert "35 K, 2 layers, F32" in below[1]


def test_drafts_for_a_target_come_with_their_verdict(folder, capsys):
    target = str(folder / "maker" / "good.gguf")
    assert cli.main(["models", str(folder), "--target", target]) == cli.DONE
    printed = capsys.readouterr().out
    assert "fits with a note good" in printed
    assert "100 % of the target's parameters" in printed
    assert "loaded once" in printed


def test_places_of_the_environment_are_listed_too(folder, monkeypatch, capsys):
    monkeypatch.setenv("DRAFTRACE_MODELS", str(folder))
    assert cli.main(["models", "--json"]) == cli.DONE
    models = json.loads(capsys.readouterr().out)["models"]
    assert [m["usable"] for m in models if m["place"] == str(folder)] == [False, True]


@pytest.mark.parametrize("text", ["tiny", "a/b/c", "../tiny"])
def test_what_is_no_id_is_refused_before_anything_is_asked(text, capsys):
    assert cli.main(["get", text]) == cli.BAD_INPUT
    assert "owner/name" in capsys.readouterr().err


def test_get_obeys_the_offline_switch(monkeypatch, capsys):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert cli.main(["get", "someone/tiny"]) == cli.BAD_INPUT
    assert "HF_HUB_OFFLINE" in capsys.readouterr().err
