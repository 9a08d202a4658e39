"""What a list or the disk can tell is refused before anything is loaded."""

from __future__ import annotations

import pytest

from core import cli
from core.checkpoints import loading
from core.distillation import source
from core.lab import random_models
from core.session import Session

PAIR = ("run", "race", "verify", "sweep", "bench")
LISTS = {
    **{f"{c} dtype": ([c, "--dtype", "float8"], "float8", "bfloat16") for c in PAIR},
    **{f"{c} device": ([c, "--device", "abacus"], "abacus", "cuda:N") for c in PAIR},
    "inspect dtype": (["inspect", "--dtype", "float8"], "float8", "bfloat16"),
    "inspect device": (["inspect", "--device", "cuda:x"], "cuda:x", "cuda:N"),
    "distill device": (
        ["distill", "demo", "--out", "d", "--device", "abacus"],
        "abacus",
        "cuda:N",
    ),
    "distill size": (
        ["distill", "demo", "--out", "d", "--size", "huge"],
        "huge",
        "tiny",
    ),
    "kinds": (["sweep", "--kinds", "code,nonsense"], "nonsense", "summary"),
    "kind": (["bench", "--kind", "nonsense"], "nonsense", "summary"),
    "shape": (["bench", "--random", "8b", "9b"], "9b", "1.5b"),
    "mutant": (["verify", "--mutant", "nonsense"], "nonsense", "always_accept"),
    "mutant that cannot show": (
        ["verify", "--draft", "lookup", "--mutant", "draft_cache_not_rolled_back"],
        "draft_cache_not_rolled_back",
        "draft model",
    ),
    "trace": (["run", "--trace", "{file}/t.jsonl"], "t.jsonl", "another file"),
    "trace in no folder": (["race", "--trace", "{gone}/t"], "gone", "another file"),
    "trace that is a folder": (["run", "--trace", "{folder}"], "here", "another file"),
    "csv": (["sweep", "--csv", "{gone}/t.csv"], "t.csv", "another file"),
    "sweep file": (["sweep", "--out", "{file}/s"], "file", "another file"),
    "draft folder": (["distill", "demo", "--out", "{file}/d"], "file", "another one"),
}


@pytest.fixture
def no_loading(monkeypatch):
    def loads(*_, **__):
        pytest.fail("it was loaded first")

    monkeypatch.setattr(Session, "load", loads)
    monkeypatch.setattr(loading, "load_model", loads)
    monkeypatch.setattr(source, "read_weights", loads)
    monkeypatch.setattr(random_models, "random_pair", loads)


@pytest.mark.parametrize(("words", "named", "cure"), LISTS.values(), ids=LISTS)
def test_it_is_refused_at_once_with_what_could_stand_there(
    words, named, cure, no_loading, tmp_path, capsys
):
    (tmp_path / "file").write_text("")
    (tmp_path / "here").mkdir()
    places = {n: tmp_path / n for n in ("file", "gone")} | {"folder": tmp_path / "here"}
    before = sorted(tmp_path.rglob("*"))
    assert cli.main([w.format(**places) for w in words]) == cli.BAD_INPUT
    captured = capsys.readouterr()
    assert captured.out == ""
    (sentence,) = captured.err.strip().splitlines()
    assert sentence.startswith("draftrace: ")
    assert sentence.endswith(".")
    assert named in sentence
    assert cure in sentence
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("command", ["run", "race", "verify"])
@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--prompt-file", "{file}"], "3 prompts"),
        (["--prompt-file", "{file}", "--prompt-number", "4"], "is 4"),
        (["--prompt-file", "{file}", "--prompt-number", "0"], "is 0"),
        (["--prompt-number", "1"], "--prompt-file"),
        (["--prompt-file", "{broken}"], "line 1"),
    ],
)
def test_a_prompt_that_is_not_clear_is_refused_with_the_cure(
    command, words, named, no_loading, tmp_path, capsys
):
    places = {"file": tmp_path / "p.jsonl", "broken": tmp_path / "b.jsonl"}
    places["file"].write_text('"one"\n{"prompt": "two", "chat": false}\n"three"\n')
    places["broken"].write_text("{")
    assert cli.main([command, *(w.format(**places) for w in words)]) == cli.BAD_INPUT
    (sentence,) = capsys.readouterr().err.strip().splitlines()
    assert named in sentence
    assert sentence.endswith(".")


def test_a_trace_that_is_only_read_need_not_be_writable(tmp_path, capsys):
    folder = tmp_path / "folder.jsonl"
    folder.mkdir()  # nobody can write it, whoever they are
    assert cli.main(["report", str(folder), "--out", str(tmp_path / "page.html")]) == 2
    assert "cannot write" not in capsys.readouterr().err
