"""Twenty checkpoints in a folder: each decodes, or says exactly why not (issue 7)."""

from __future__ import annotations

import json
import sys

import pytest
from tiny_checkpoints import check_sentence
from twenty import (
    DECODES,
    GGUF,
    NAMES,
    PLAIN_ONLY,
    REFUSED,
    STRANGER,
    TARGET,
    make_twenty,
)

import resources
from core import cli
from core.checkpoints import loading, weights
from core.checkpoints.pairing import Fit
from core.config import DecodingConfig, DrafterKind, ModelConfig, PairConfig
from core.control import Control
from core.errors import CoreError, PlainOnlyError, VocabularyMismatchError
from core.events import PairLoaded
from core.session import Session
from tests.core.checkpoints.twenty_table import HEAD, rows
from tests.core.tiny_sessions import decode, load

pytestmark = pytest.mark.slow
GREEDY = DecodingConfig(max_new_tokens=12, lookahead=3, ignore_eos=True)
USABLE = (*DECODES, *(f"{name}.gguf" for name in GGUF))


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return make_twenty(tmp_path_factory.mktemp("twenty"))


@pytest.fixture
def listed(folder, capsys) -> dict[str, dict]:
    """What ``draftrace models FOLDER --target … --json`` prints, by name, in order."""
    target = str(folder / TARGET)
    assert cli.main(["models", str(folder), "--target", target, "--json"]) == cli.DONE
    models = json.loads(capsys.readouterr().out)["models"]
    return {m["name"]: m for m in models if m["place"] == str(folder)}


def _model(path) -> ModelConfig:
    return ModelConfig(str(path), "cpu", "float32")


def _pair(target, draft=None) -> PairConfig:
    if draft is None:
        return PairConfig(_model(target), DrafterKind.LOOKUP)
    return PairConfig(_model(target), DrafterKind.CHECKPOINT, _model(draft))


def test_all_twenty_are_listed_with_a_verdict(listed):
    assert len(NAMES) == 20
    assert set(listed) == NAMES
    fits = {name: Fit(m["verdict"]["fit"]) for name, m in listed.items()}
    unfit = {n for n, f in fits.items() if f is Fit.NOT}
    assert unfit == {*REFUSED, STRANGER, PLAIN_ONLY}
    assert {n for n, m in listed.items() if m["plain_only"]} == {PLAIN_ONLY}
    assert {n for n, m in listed.items() if not m["usable"]} == {*REFUSED}
    assert fits[TARGET] is Fit.NOTED  # the target as its own draft
    differing = listed[STRANGER]["verdict"]["differing"]
    assert [d["id"] for d in differing] == [1, 2, 3]


def test_the_list_is_sorted_by_fit_then_by_size(listed):
    order = [Fit.FITS, Fit.NOTED, Fit.NOT]
    keys = [
        (order.index(m["verdict"]["fit"]), m["verdict"]["size_ratio"] or 1e9)
        for m in listed.values()
    ]
    assert keys == sorted(keys)


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_used_has_its_sentence(folder, listed, name):
    entry = listed[name]
    assert not entry["usable"]
    assert entry["verdict"]["reasons"] == [entry["problem"]]
    with pytest.raises(CoreError) as caught:
        load(Session(), _pair(folder / name))
    assert check_sentence(caught.value, *REFUSED[name]) == entry["problem"]


def test_other_tokens_are_refused_as_a_draft_and_decode_alone(folder, listed):
    session = Session()
    with pytest.raises(VocabularyMismatchError) as caught:
        load(session, _pair(folder / TARGET, folder / STRANGER))
    assert [caught.value.sentence] == listed[STRANGER]["verdict"]["reasons"]
    load(session, _pair(folder / STRANGER))
    assert decode(session, GREEDY).counts.emitted == GREEDY.max_new_tokens


def test_what_cannot_be_rewound_decodes_alone_and_is_refused_beside_another(
    folder, listed
):
    session = Session()
    for pair in (
        _pair(folder / TARGET, folder / PLAIN_ONLY),
        _pair(folder / PLAIN_ONLY, folder / TARGET),
        _pair(folder / PLAIN_ONLY),
    ):
        with pytest.raises(PlainOnlyError) as caught:
            load(session, pair)
        sentence = check_sentence(caught.value, "mamba", "recurrent", "rewound")
        if pair.draft and pair.draft.reference.endswith(PLAIN_ONLY):
            assert listed[PLAIN_ONLY]["verdict"]["reasons"] == [sentence]
        else:
            assert "drafter none" in sentence
    loaded = load(session, PairConfig(_model(folder / PLAIN_ONLY)))
    (note,) = loaded.notes
    assert "plain decoding only" in note
    assert decode(session, GREEDY).counts.emitted == GREEDY.max_new_tokens
    assert decode(session, GREEDY).tokens == decode(session, GREEDY).tokens


@pytest.fixture(scope="module")
def with_target(folder) -> tuple[Session, tuple[int, ...]]:
    """A session that keeps the target, and the target's own greedy tokens."""
    session = Session()
    load(session, PairConfig(_model(folder / TARGET)))
    return session, decode(session, GREEDY).tokens


@pytest.mark.parametrize("name", USABLE)
def test_every_usable_one_drafts_losslessly_for_the_target(folder, with_target, name):
    session, plain = with_target
    load(session, _pair(folder / TARGET, folder / name))
    found = decode(session, GREEDY)
    assert found.tokens == plain
    assert found.counts.drafted > 0


@pytest.mark.parametrize("name", USABLE)
def test_every_usable_one_decodes_as_a_target(folder, name):
    session = Session()
    load(session, PairConfig(_model(folder / name)))
    assert decode(session, GREEDY).counts.emitted == GREEDY.max_new_tokens


def test_the_help_page_shows_what_the_folder_does(folder):
    """Verdict, sentence and a real decoding, row by row; they are printed, too."""
    page = resources.text("help/any-checkpoint.md").splitlines()
    start = page.index(HEAD[0])
    made = [*HEAD, *rows(folder)]
    sys.stdout.write("\n".join(made))
    assert page[start : start + len(made)] == made
    assert len(made) == len(HEAD) + len(NAMES)


def test_a_cancelled_load_leaves_the_pair_before_usable(folder, monkeypatch):
    session, read = Session(), []

    class Impatient(Control):
        def should_stop(self) -> bool:
            return bool(read)  # as soon as the new weights are in memory

    def read_and_tell(*arguments):
        read.append(True)
        return weights.read_weights(*arguments)

    load(session, _pair(folder / TARGET))
    before = decode(session, GREEDY).tokens
    monkeypatch.setattr(loading, "read_weights", read_and_tell)
    events = list(session.load(_pair(folder / "qwen2"), Impatient()))
    assert read
    assert not any(isinstance(event, PairLoaded) for event in events)
    assert session.pair == _pair(folder / TARGET)
    assert decode(session, GREEDY).tokens == before
