"""Runs through the session: what breaks one leaves no trace (H14, H18, H20, H22)."""

from __future__ import annotations

import copy
import dataclasses
import gc
import json

import psutil
import pytest

from core.config import DecodingConfig, DecodingRequest
from core.control import Control
from core.drafters.draft_model import DraftModel
from core.errors import DeviceMemoryError, PromptError
from core.events import RoundFinished, RunFinished, SettingsChanged, StopReason
from core.session import Session
from tests.core.checkpoints.tiny_checkpoints import check_sentence
from tests.core.lab.costs import step_costs
from tests.core.tiny_sessions import (
    GREEDY,
    PROMPT,
    checkpoint,
    decode,
    events,
    load,
    pair,
    plain,
)

pytestmark = pytest.mark.slow
MEBIBYTE = 1 << 20


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A target and a smaller draft."""
    root = tmp_path_factory.mktemp("pair")
    draft = checkpoint(root / "draft", layers=1, hidden_size=16, seed=1)
    return checkpoint(root / "target"), draft


@pytest.fixture
def session(folders):
    made = Session()
    load(made, pair(*folders))
    yield made
    made.close()


def break_in_round_five(monkeypatch):
    """Let the draft raise in its fifth round, once."""
    right, asked = DraftModel.propose, [0]

    def propose(self, *arguments):
        asked[0] += 1
        if asked[0] == 5:
            raise RuntimeError("the draft broke")
        return right(self, *arguments)

    monkeypatch.setattr(DraftModel, "propose", propose)


def broken_run(session) -> list:
    """Return the events of a run that breaks."""
    seen = []
    request = DecodingRequest("run", PROMPT, GREEDY, use_chat_template=False)
    with pytest.raises(RuntimeError, match="the draft broke"):
        seen.extend(_keeping(session.run(request, Control(GREEDY)), seen))
    return seen


def _keeping(stream, seen):
    for event in stream:
        seen.append(event)
    return ()


def cancelled_run(session) -> list:
    control, seen = Control(GREEDY), []
    request = DecodingRequest("run", PROMPT, GREEDY, use_chat_template=False)
    for event in session.run(request, control):
        seen.append(event)
        if isinstance(event, RoundFinished) and event.round_index == 2:
            control.stop()
            control.stop()
    return seen


# --- H14: K and the generation configurations ----------------------------------------


@pytest.mark.parametrize("lookahead", [1, 3, 7])
@pytest.mark.parametrize("drafter", ["model", "self"])
def test_a_fixed_lookahead_is_kept_in_every_round_but_the_last(
    folders, drafter, lookahead
):
    """H14: nothing shortens a block but the end of the run."""
    target, draft = folders
    session = Session()
    load(session, pair(target, draft if drafter == "model" else target))
    config = DecodingConfig(lookahead=lookahead, max_new_tokens=60, ignore_eos=True)
    rounds = [e for e in events(session, config) if isinstance(e, RoundFinished)]
    left = config.max_new_tokens
    for played in rounds:
        assert played.lookahead == min(lookahead, left - 1)
        left -= len(played.tokens)
    assert left == 0


def test_an_automatic_lookahead_is_chosen_by_recorded_costs_and_repeats(session):
    """H14: two runs choose alike, costs stand in the events, the text is plain's."""
    measured = session.loaded().costs
    assert min(*measured.target_ms, measured.draft_ms) > 0
    # At these costs K = 4 can win, whatever was measured here.
    session._loaded = dataclasses.replace(session.loaded(), costs=step_costs())
    config = DecodingConfig(lookahead=4, auto_lookahead=True, max_new_tokens=60)
    config = dataclasses.replace(config, ignore_eos=True)
    first, second = events(session, config), events(session, config)
    assert first[0].costs == second[0].costs == step_costs()
    chosen = [
        [(e.auto_lookahead, e.lookahead) for e in run if isinstance(e, RoundFinished)]
        for run in (first, second)
    ]
    assert chosen[0] == chosen[1]
    assert chosen[0][0] == (4, 4), "the K that was set"
    assert len(set(chosen[0])) > 1
    assert not any(isinstance(e, SettingsChanged) for e in first)
    assert not first[-1].summary.mixed_settings
    fixed = decode(session, DecodingConfig(max_new_tokens=60, ignore_eos=True))
    assert first[-1].summary.tokens == fixed.tokens


def generation_configs(session) -> list[dict]:
    models = [loaded.model for loaded in session.loaded().models.values()]
    return [copy.deepcopy(m._module.generation_config.to_dict()) for m in models]


def test_no_run_changes_the_generation_configs(session, monkeypatch):
    """H14: also not a run that was cancelled or that broke."""
    before = generation_configs(session)
    decode(session)
    assert generation_configs(session) == before
    cancelled_run(session)
    assert generation_configs(session) == before
    break_in_round_five(monkeypatch)
    broken_run(session)
    assert generation_configs(session) == before


# --- H18: a run that breaks or is stopped --------------------------------------------


def test_after_a_broken_run_the_next_one_equals_a_fresh_one(
    session, folders, monkeypatch
):
    """H18: words, the text so far, and the device lock given back."""
    with monkeypatch.context() as patch:
        break_in_round_five(patch)
        last = broken_run(session)[-1]
    assert isinstance(last, RunFinished)
    assert last.summary.stop_reason is StopReason.ERROR
    assert "the draft broke" in last.error
    fresh = plain(folders[0])
    kept = last.summary.tokens
    assert len(kept) >= 4
    assert kept == fresh.tokens[: len(kept)]
    assert decode(session).tokens == fresh.tokens


def test_after_a_cancelled_run_the_next_one_equals_a_fresh_one(session, folders):
    """H18: stopped twice, within a round."""
    seen = cancelled_run(session)
    assert seen[-1].summary.stop_reason is StopReason.CANCELLED
    assert sum(isinstance(e, RoundFinished) for e in seen) == 3
    assert decode(session).tokens == plain(folders[0]).tokens


def test_a_run_that_nobody_finishes_gives_the_device_back(session, folders):
    """H18: a window that closes drops the generator in the middle."""
    request = DecodingRequest("run", PROMPT, GREEDY, use_chat_template=False)
    stream = session.run(request, Control(GREEDY))
    for event in stream:
        if isinstance(event, RoundFinished):
            break
    stream.close()
    assert decode(session).tokens == plain(folders[0]).tokens


# --- H20: prompts of nothing ---------------------------------------------------------


@pytest.mark.parametrize("prompt", [" ", "    ", "\n", "\n\n", "a", "\t"])
def test_a_prompt_of_white_space_decodes_like_plainly(session, folders, prompt):
    """H20: without a chat template these are one to four tokens."""
    found = decode(session, prompt=prompt)
    assert found.tokens == plain(folders[0], prompt=prompt).tokens
    assert found.counts.emitted == 40


def test_an_empty_prompt_without_a_first_token_is_one_sentence(session, folders):
    """H20."""
    with pytest.raises(PromptError) as caught:
        events(session, prompt="")
    check_sentence(caught.value, "empty", "0 tokens")
    assert decode(session).counts.emitted == 40


def begin_with_token(folder, token_id: int = 0):
    """Let the tokenizer put a token before every text."""
    file = folder / "tokenizer.json"
    tokenizer = json.loads(file.read_text())
    token = next(t for t, i in tokenizer["model"]["vocab"].items() if i == token_id)
    special = {"id": token, "ids": [token_id], "tokens": [token]}
    tokenizer["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [
            {"SpecialToken": {"id": token, "type_id": 0}},
            {"Sequence": {"id": "A", "type_id": 0}},
        ],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}],
        "special_tokens": {token: special},
    }
    file.write_text(json.dumps(tokenizer))
    return folder


def test_an_empty_prompt_after_a_first_token_decodes_like_plainly(folders, tmp_path):
    """H20: one token is all that the models read."""
    target = begin_with_token(checkpoint(tmp_path / "target"))
    draft = begin_with_token(checkpoint(tmp_path / "draft", layers=1, seed=1))
    session = Session()
    for wanted in (pair(target, draft), pair(target)):
        load(session, wanted)
        found = decode(session, prompt="")
        assert found.tokens == plain(target, prompt="").tokens
        assert found.counts.emitted == 40


# --- H22: memory ---------------------------------------------------------------------


def bytes_per_token(session) -> int:
    return session.loaded().target.model.cache_bytes(4096) // 4096


def resident() -> int:
    gc.collect()
    return psutil.Process().memory_info().rss


@pytest.mark.parametrize("work", [Session.run, Session.race, Session.verify])
def test_caches_that_do_not_fit_are_refused_before_they_are_made(tmp_path, work):
    """H22: a context of ten million positions, and a prompt that fills the memory."""
    wide = {"head_dim": 1024, "num_key_value_heads": 4}
    target = checkpoint(tmp_path / "t", max_position_embeddings=10**7, **wide)
    session = Session()
    load(session, pair(target))
    free = psutil.virtual_memory().available
    prompt = "x" * (2 * free // bytes_per_token(session))
    before = resident()
    config = DecodingConfig(max_new_tokens=16)
    request = DecodingRequest("run", prompt, config, use_chat_template=False)
    with pytest.raises(DeviceMemoryError) as caught:
        list(work(session, request, Control(config)))
    check_sentence(caught.value, "need", "free", "shorten the prompt")
    assert caught.value.facts["needed"] > caught.value.facts["free"] > 0
    assert resident() - before < free / 20, "the prompt's ids grow with what is free"
    assert decode(session).counts.emitted == 40


def test_the_memory_of_a_run_comes_back(tmp_path):
    """H22: what the caches took is gone after the run, however it ended."""
    wide = {"head_dim": 1024, "num_key_value_heads": 4}
    target = checkpoint(tmp_path / "t", max_position_embeddings=10**5, **wide)
    session = Session()
    load(session, pair(target))
    decode(session)  # what is made once is made now
    before = resident()
    prompt = "x" * (128 * MEBIBYTE // bytes_per_token(session))
    decode(session, prompt=prompt)
    assert resident() - before < 50 * MEBIBYTE
