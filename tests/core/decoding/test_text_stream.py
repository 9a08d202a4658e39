"""The text as it streams: no half a character at any instant (H16)."""

from __future__ import annotations

from itertools import groupby

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.config import DecodingConfig
from core.decoding.detokenizer import Detokenizer, TokenLabels
from core.decoding.lane import prompt_tokens
from tests.core.tables import (
    BROKEN,
    ByteTokenizer,
    CertainDrafter,
    PieceTokenizer,
    drafting,
    events_of,
    rounds_of,
    scripted_logits,
    summary_of,
    table,
)

TEXTS = {
    "family": "a \U0001f469‍\U0001f469‍\U0001f467‍\U0001f466!",
    "flag": "to \U0001f1ef\U0001f1f5.",
    "combining": "nai\u0308ve cafe\u0301",
    "bytes": "日本語 \U00010348",
}
TOKENIZER = ByteTokenizer()


def _table_of(ids: list[int]):
    return table(scripted_logits(257, [*ids, TOKENIZER.eos_token_id], 1), 257)


def _stream(ids: list[int], lookahead: int, wrong_every: int, limit: int = 200):
    target = _table_of(ids)

    def guess(prefix):
        right = int(target.row(prefix).argmax())
        return 65 if wrong_every and len(prefix) % wrong_every == 0 else right

    return events_of(
        target,
        lambda capacity: CertainDrafter(guess, 257),
        DecodingConfig(lookahead=lookahead, max_new_tokens=limit),
        prompt=(32,),
        eos_ids=(TOKENIZER.eos_token_id,),
        tokenizer=TOKENIZER,
    )


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("lookahead", range(6))
@pytest.mark.parametrize("wrong_every", [0, 3])
def test_no_broken_character_is_ever_shown(text, lookahead, wrong_every):
    """H16: block borders fall at every byte as K and the refusals vary."""
    events = _stream(TOKENIZER.encode(text), lookahead, wrong_every)
    shown = ""
    for event in rounds_of(events):
        shown += "".join(token.text for token in event.tokens)
        assert BROKEN not in shown
        assert text.startswith(shown)
    assert shown == summary_of(events).text == text


@pytest.mark.parametrize("cut", range(1, 12))
def test_a_run_that_ends_in_mid_character_has_no_broken_tail(cut):
    """H16."""
    ids = TOKENIZER.encode(TEXTS["family"])
    text = summary_of(_stream(ids, 3, 0, limit=cut)).text
    assert TEXTS["family"].startswith(text)
    assert BROKEN not in text


def _pieces(ids: list[int], prompt: list[int] | None = None) -> list[str]:
    detokenizer = Detokenizer(TOKENIZER, prompt or [])
    return [detokenizer.push(i) for i in ids]


@given(st.text(max_size=60))
def test_pieces_of_any_text_join_to_it(text):
    pieces = _pieces(TOKENIZER.encode(text))
    assert "".join(pieces) == text


@given(st.lists(st.integers(0, 255), max_size=60))
@example([0x80] * 5 + [0xC3, 0xA9])
@example([0x80] * 40 + [0x61])
@example([0xF0, 0x9F, 0x98] * 12 + [0x61])
def test_pieces_of_any_bytes_join_to_the_decoded_text(ids):
    """H16: bytes that are no text show as what they decode to, once."""
    shown = "".join(_pieces([*ids, 0x2E]))
    assert shown == bytes([*ids, 0x2E]).decode(errors="replace")


class ByteFallback(PieceTokenizer):
    """As SentencePiece vocabularies decode: a run of byte tokens is text or is not.

    Ids below 256 are bytes; one that is no text as a whole is a mark for each byte.
    """

    def __init__(self) -> None:
        super().__init__([*(bytes([b]) for b in range(256)), " and", "x"])

    def decode(self, ids, *options, **named):
        runs = [
            (is_byte, list(run)) for is_byte, run in groupby(ids, lambda i: i < 256)
        ]
        return "".join(self._run(*run) for run in runs)

    def _run(self, is_byte: bool, ids: list[int]) -> str:
        raw = b"".join(self.pieces[i] for i in ids)
        try:
            return raw.decode()
        except UnicodeDecodeError:
            return BROKEN * len(ids)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("repeats", [1, 3, 9])
def test_byte_fallback_shows_each_character_once(text, repeats):
    """H16: a run of bytes decodes as a whole, so its end takes back its beginning."""
    tokenizer = ByteFallback()
    ids = [*list(text.encode()), 256, 257] * repeats + list((text * 4).encode())
    detokenizer = Detokenizer(tokenizer, [257])
    shown = ""
    for token_id in ids:
        shown += detokenizer.push(token_id)
        assert BROKEN not in shown
    assert shown == tokenizer.decode(ids)


def test_bytes_that_are_no_text_do_not_hold_up_the_rest():
    """H16."""
    detokenizer = Detokenizer(ByteFallback(), [257])
    shown = "".join(detokenizer.push(i) for i in [0xC3, 0xA9, *[0x80] * 30, 256, 257])
    assert shown.startswith("é")
    assert shown.endswith(" andx")


@given(st.text(min_size=1, max_size=30), st.data())
def test_a_prompt_may_end_inside_a_character(text, data):
    ids = TOKENIZER.encode(text)
    cut = data.draw(st.integers(0, len(ids)))
    pieces = _pieces(ids[cut:], ids[:cut])
    before = bytes(ids[:cut]).decode(errors="ignore")
    assert before + "".join(pieces) == text


def test_a_long_run_decodes_a_short_context():
    asked = []

    class Watched(ByteTokenizer):
        def decode(self, ids, *options, **named):
            asked.append(len(ids))
            return super().decode(ids, *options, **named)

    detokenizer = Detokenizer(Watched(), [])
    pieces = [detokenizer.push(97 + i % 26) for i in range(500)]
    assert "".join(pieces) == bytes(97 + i % 26 for i in range(500)).decode()
    assert max(asked) < 64


def test_a_space_that_depends_on_the_token_before_is_not_lost():
    """Tokenizers of the SentencePiece kind drop the space of the first token."""

    class Spaces(PieceTokenizer):
        def decode(self, ids, *options, **named):
            return super().decode(ids).removeprefix(" ")

    tokenizer = Spaces([" one", " two", " three"])
    detokenizer = Detokenizer(tokenizer, [0])
    ids = [i % 3 for i in range(1, 90)]
    shown = "one" + "".join(detokenizer.push(i) for i in ids)
    assert shown == tokenizer.decode([0, *ids])


def test_the_prompt_and_its_tokens_have_the_same_text():
    text = TEXTS["family"] + TEXTS["bytes"]
    ids = tuple(TOKENIZER.encode(text))
    tokens = prompt_tokens(TOKENIZER, ids)
    assert "".join(t.text for t in tokens) == text
    assert tuple(t.token_id for t in tokens) == ids


def test_a_label_of_half_a_character_names_its_bytes():
    label = TokenLabels(TOKENIZER)
    assert label(0xF0) == "<0xF0>"
    assert label(97) == "a"


def test_a_draft_of_the_same_table_streams_the_same():
    ids = TOKENIZER.encode(TEXTS["flag"])
    target = _table_of(ids)
    events = events_of(
        target,
        drafting(target),
        DecodingConfig(lookahead=5, max_new_tokens=99),
        prompt=(32,),
        eos_ids=(256,),
        tokenizer=TOKENIZER,
    )
    assert summary_of(events).text == TEXTS["flag"]
