"""What holds in every run, whatever the tables, the settings and the drafter."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from core.config import Coupling, DecodingConfig
from core.decoding.speculative import play_round
from core.events import RoundFinished, StopReason
from core.lab.enumeration import check_round_start
from core.metrics import is_consistent
from core.sampling.draws import KeyedDraws
from tests.core.tables import (
    CertainDrafter,
    PieceTokenizer,
    drafting,
    events_of,
    looking_up,
    random_logits,
    start,
    summary_of,
    table,
)

PIECES = ["a", "b", "ab", "é".encode()[:1], "é".encode()[1:], " "]
TOKENIZER = PieceTokenizer(PIECES)
DRAFTERS = {
    "none": None,
    "self": drafting(table(random_logits(6, 1), 6)),
    "model": drafting(table(random_logits(6, 2), 6)),
    "lookup": looking_up(6),
    "certain": lambda capacity: CertainDrafter(lambda p: sum(p) % 6, 6, most=3),
    "narrow": drafting(table(random_logits(4, 2), 6)),
}
CONFIGS = st.builds(
    DecodingConfig,
    lookahead=st.integers(0, 8),
    temperature=st.sampled_from([0.0, 0.7, 1.5]),
    top_k=st.sampled_from([0, 2, 4]),
    repetition_penalty=st.sampled_from([1.0, 1.3]),
    no_repeat_ngram=st.sampled_from([0, 3]),
    seed=st.integers(0, 99),
    max_new_tokens=st.integers(1, 40),
    coupling=st.sampled_from(Coupling),
    stop=st.sampled_from([(), ("ab a",), ("bb", "é"), (" ab",)]),
    ignore_eos=st.booleans(),
)


@settings(max_examples=60)
@given(CONFIGS, st.sampled_from(sorted(DRAFTERS)), st.integers(1, 4))
def test_every_run_counts_and_writes_consistently(config, drafter, prompt):
    events = events_of(
        table(random_logits(6, 1), 6),
        DRAFTERS[drafter],
        config,
        prompt=range(prompt),
        eos_ids=(5,),
        tokenizer=TOKENIZER,
    )
    summary, joined, tokens = summary_of(events), "", []
    for event in (e for e in events if isinstance(e, RoundFinished)):
        assert 1 <= len(event.tokens) <= event.lookahead + 1
        assert event.position == len(tokens)
        assert event.counts.emitted == len(event.tokens)
        tokens += [t.token_id for t in event.tokens]
        joined += "".join(t.text for t in event.tokens)
        if len(tokens) < len(summary.tokens):
            visible = joined[: len(joined) - event.held_characters]
            assert not any(s in visible for s in config.stop)
            assert summary.text.startswith(visible)
    assert tuple(tokens) == summary.tokens
    assert is_consistent(summary.counts)
    assert summary.counts.emitted == len(tokens) <= config.max_new_tokens
    _check_text(summary, joined, config)


def _check_text(summary, joined, config):
    tail = joined[len(summary.text) :]
    assert joined.startswith(summary.text)
    if summary.stop_reason is StopReason.STOP:
        assert any(tail.startswith(s) for s in config.stop)
    else:
        assert tail == ""


@settings(max_examples=40)
@given(CONFIGS, st.sampled_from(["self", "model", "narrow", "lookup"]))
def test_caches_hold_the_committed_tokens_but_the_last(config, drafter):
    target = table(random_logits(6, 1), 6)
    sequence = start(target, DRAFTERS[drafter], config, eos_ids=(5,))
    draws = KeyedDraws(config.seed)
    with torch.inference_mode():
        while sequence.ending.reason is None:
            check_round_start(sequence)
            before = len(sequence.ids)
            played = play_round(sequence, config, draws)
            assert 1 <= len(sequence.ids) - before <= len(played.proposal.ids) + 1
            assert list(played.tokens) == sequence.ids[before:]
    check_round_start(sequence)
