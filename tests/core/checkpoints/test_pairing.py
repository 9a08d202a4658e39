"""Whether a draft speaks the target's tokens."""

from __future__ import annotations

import dataclasses

import pytest
from tiny_checkpoints import byte_tokens, check_sentence, make_checkpoint

from core.checkpoints.inspection import inspect_checkpoint
from core.checkpoints.pairing import judge_pair, require_fit
from core.errors import VocabularyMismatchError


@pytest.fixture
def target(whole):
    return inspect_checkpoint(whole)


def _draft(tmp_path, **how):
    how = {"layers": 1, "hidden_size": 16, **how}
    return inspect_checkpoint(make_checkpoint(tmp_path / "draft", **how))


def test_same_tokenizer_fits_whatever_the_padding(tmp_path, target):
    """H4."""
    for number, rows in enumerate((258, 320)):
        draft = _draft(tmp_path / str(number), rows=rows)
        verdict = judge_pair(target, draft)
        assert (verdict.fits, verdict.reasons, verdict.notes) == (True, (), ())
        assert judge_pair(draft, target).fits


def test_one_more_special_token_at_the_end_fits_with_a_note(tmp_path, target):
    """H5."""
    draft = _draft(tmp_path, added=("<|extra|>",))
    verdict = judge_pair(target, draft)
    assert verdict.fits
    assert verdict.notes == ("draft knows 1 token more than tiny-llama (id 258).",)


def test_permuted_vocabulary_of_equal_size_is_refused(tmp_path, target):
    """H5."""
    vocab = byte_tokens()
    names = list(vocab)
    vocab = {name: i for i, name in enumerate([names[0], *names[:0:-1]])}
    verdict = judge_pair(target, _draft(tmp_path, vocab=vocab))
    assert not verdict.fits
    assert [i for i, _, _ in verdict.differing] == [1, 2, 3]
    with pytest.raises(VocabularyMismatchError) as caught:
        require_fit(verdict)
    words = ("draft", "tiny-llama", "id 1 ", "id 2 ", "id 3 ", "prompt lookup")
    assert "id 4 " not in check_sentence(caught.value, *words)


def test_two_swapped_tokens_are_enough(tmp_path, target):
    vocab = byte_tokens()
    vocab["a"], vocab["b"] = vocab["b"], vocab["a"]
    verdict = judge_pair(target, _draft(tmp_path, vocab=vocab))
    assert {(a, b) for _, a, b in verdict.differing} == {("a", "b"), ("b", "a")}


def test_control_tokens_may_have_other_names(tmp_path):
    first = make_checkpoint(tmp_path / "one", added=("<|a|>",))
    second = make_checkpoint(tmp_path / "two", added=("<|b|>",))
    verdict = judge_pair(inspect_checkpoint(first), inspect_checkpoint(second))
    assert verdict.fits
    assert "1 control token" in verdict.notes[0]


def test_shorter_context_and_large_draft_are_noted(tmp_path, target):
    draft = _draft(tmp_path, max_position_embeddings=32, hidden_size=64)
    notes = " ".join(judge_pair(target, draft).notes)
    assert "32 tokens" in notes
    assert "speed-up" in notes


def test_gguf_and_folder_of_the_same_tokens_fit(whole_gguf, target):
    """H23."""
    assert judge_pair(inspect_checkpoint(whole_gguf), target).fits


def test_problem_of_one_side_is_the_reason(target):
    broken = dataclasses.replace(target, problem="It is gone.")
    assert judge_pair(target, broken).reasons == ("It is gone.",)


def test_loaded_models_are_judged_by_their_facts(target):
    class Loaded:
        facts = target

    assert judge_pair(Loaded(), Loaded()).fits
