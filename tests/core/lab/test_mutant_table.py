"""The table of wrong rules that the command prints for a pair."""

from __future__ import annotations

import contextlib
import json

import pytest

from core import cli
from core.lab import mutants
from core.lab.mutants.mutant import Need
from tests.core.tiny_sessions import checkpoint

pytestmark = [pytest.mark.law, pytest.mark.slow]
THREE = ("always_accept", "draft_cache_not_rolled_back", "penalties_miss_the_block")


HARMLESS = mutants.Mutant("harmless", "nothing", contextlib.nullcontext)


def table(folder, monkeypatch, capsys, *chosen):
    """Return exit code and object of the command under a few mutants."""
    for name in tuple(mutants.MUTANTS):
        monkeypatch.delitem(mutants.MUTANTS, name)
    for mutant in chosen:
        monkeypatch.setitem(mutants.MUTANTS, mutant.name, mutant)
    words = ["verify", "--target", str(folder), "--draft", "lookup", "--raw"]
    words += ["--prompt", "abcabcabc", "--device", "cpu", "--dtype", "float32"]
    code = cli.main([*words, "--max-new-tokens", "8", "--mutant", "all", "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_the_table_names_the_check_that_noticed_each_wrong_rule(
    tmp_path, monkeypatch, capsys
):
    """A mistake of draft models has nothing to break in prompt lookup, and says so."""
    chosen = [mutants.MUTANTS[name] for name in THREE]
    folder = checkpoint(tmp_path / "target")
    code, found = table(folder, monkeypatch, capsys, *chosen)
    caught, left_out, penalised = found["mutants"]
    assert (code, found["passed"]) == (0, True)
    assert [row["mutant"] for row in found["mutants"]] == list(THREE)
    assert "law" in caught["caught_by"] or "tokens" in caught["caught_by"]
    assert left_out["caught_by"] is None
    assert Need.DRAFT_MODEL in left_out["detail"]
    assert penalised["caught_by"]


def test_a_mutant_that_nothing_notices_fails_the_command(tmp_path, monkeypatch, capsys):
    folder = checkpoint(tmp_path / "target")
    code, found = table(folder, monkeypatch, capsys, HARMLESS)
    assert (code, found["passed"]) == (3, False)
    assert found["mutants"][0]["detail"] == "not noticed"
