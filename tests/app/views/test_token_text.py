"""The true text under every way of showing it. No Qt."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
import story
from story import CODE, finished, rounds_of, speculative_round

from app.views.token_map import TokenMap, units
from app.views.token_text import BREAK_AFTER, TokenText, fold_at

TEXTS = {
    "code": CODE.split("|"),
    "characters of several tokens": ["a", "", "", "👩‍👩‍👧", " é", "", "🇯🇵", "\n", " z"]
    * 5,
    "white space": ["\n", "  ", "\t", " \n ", "\r\n", "x", "\u2029", "\u2028", " "] * 4,
    "empty": ["", "", ""],
}


def shown(model: TokenText, tokens: TokenMap, rejected: bool) -> str:
    for piece in model.take(rejected):
        tokens.add(piece)
    return tokens.true_text(0, tokens.length)


@pytest.mark.parametrize(
    ("name", "rejected", "held"), list(product(TEXTS, (0, 1), (0, 1, 5)))
)
def test_the_text_is_the_true_text_at_every_round(name, rejected, held):
    model, tokens, text = TokenText(), TokenMap(), ""
    rounds = list(rounds_of(TEXTS[name]))
    for event in rounds:
        text += "".join(t.text for t in event.tokens)
        held_now = min(held, len(text))
        model.add_round(replace(event, held_characters=held_now))
        seen = shown(model, tokens, bool(rejected))
        assert text.startswith(seen)
        assert len(seen) >= len(text) - held_now
        assert seen == model.text
    model.finish(text)
    assert shown(model, tokens, bool(rejected)) == text == model.text


def test_a_growing_stop_string_never_flashes():
    model, tokens = TokenText(), TokenMap()
    seen = []
    for i, (text, held) in enumerate(
        [("one", 0), (" two", 0), (" E", 2), ("N", 3), ("D th", 0)]
    ):
        event = speculative_round(i, i, [text], None, held=held)
        model.add_round(event)
        seen.append(shown(model, tokens, False))
        if i == 3:
            assert seen[-1] == "one two"
    assert model.finish("one two") is False  # the core let go of it: lay out anew
    model.rewind()
    assert shown(model, TokenMap(), False) == "one two"


def test_a_false_alarm_shows_what_was_held():
    model, tokens = TokenText(), TokenMap()
    model.add_round(speculative_round(0, 0, ["a E"], None, held=2))
    assert shown(model, tokens, False) == "a"
    model.add_round(speculative_round(1, 1, ["at"], None))
    assert shown(model, tokens, False) == "a Eat"


def test_finishing_within_the_shown_text_stands():
    model, tokens = TokenText(), TokenMap()
    model.add_round(speculative_round(0, 0, ["a EN"], None, held=3))
    shown(model, tokens, False)
    assert model.finish("a") is True
    assert shown(model, tokens, False) == "a"


def test_a_final_text_that_the_tokens_do_not_spell_is_shown_all_the_same():
    model = TokenText()
    model.add_round(speculative_round(0, 0, ["abc"], None))
    model.finish("abXY")
    model.rewind()
    assert shown(model, TokenMap(), True) == "abXY"


def test_every_token_can_be_pointed_at_even_without_text():
    model, tokens = TokenText(), TokenMap()
    for event in rounds_of(TEXTS["characters of several tokens"]):
        model.add_round(event)
    shown(model, tokens, False)
    assert [s.token.text for s in tokens.stops] == TEXTS["characters of several tokens"]


def test_a_character_of_several_tokens_is_the_last_ones():
    model, tokens = TokenText(), TokenMap()
    model.add_round(speculative_round(0, 0, ["", "", "é"], " x"))
    shown(model, tokens, False)
    assert tokens.stops[tokens.index_at(0)].role == "resampled"


def test_proposals_stand_where_they_were_refused():
    model = TokenText()
    model.add_round(speculative_round(0, 0, [" for", " _", " range"], " enumerate"))
    roles = [piece.role for piece in model.take(True) if piece.role != "plain"]
    assert roles == ["accepted", "accepted", "rejected", "discarded", "resampled"]


def test_positions_count_as_qt_counts():
    model, tokens = TokenText(), TokenMap()
    model.add_round(speculative_round(0, 0, ["👍", "x"], None))
    shown(model, tokens, False)
    assert units("👍") == 2
    assert tokens.span(1) == (2, 3)
    assert tokens.true_text(2, 3) == "x"
    assert tokens.true_text(0, 2) == "👍"


def test_a_long_paragraph_is_broken_at_a_space_for_display_only():
    model, tokens = TokenText(), TokenMap()
    texts = [" word"] * (BREAK_AFTER + 500)
    for event in rounds_of(texts):
        model.add_round(event)
    pieces = list(model.take(False))
    for piece in pieces:
        tokens.add(piece)
    assert sum(p.shown == "\n" and p.true == "" for p in pieces) == 1
    assert tokens.true_text(0, tokens.length) == "".join(texts)


def test_a_prompt_folds_to_its_last_lines():
    assert fold_at(["a\n", "b\n", "c\n", "d\n", "e"]) == 2
    assert fold_at(["a", " b"]) == 0
    assert 0 < fold_at(["word "] * 500) < 500


def test_finished_summary_is_the_text(rounds):
    assert finished(rounds).summary.text == CODE.replace("|", "")
    assert story.summary(rounds).counts.emitted == len(CODE.split("|"))
