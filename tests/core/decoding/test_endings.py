"""How runs end: end tokens, limits, context, stop strings (H2, H3, H10, H17)."""

from __future__ import annotations

import pytest

from core.config import DecodingConfig
from core.drafters.draft_model import DraftModel
from core.errors import ContextLengthError
from core.events import Noted, Origin, StopReason
from core.metrics import is_consistent
from tests.core.decoding.toys import toy
from tests.core.tables import (
    CertainDrafter,
    PieceTokenizer,
    drafting,
    events_of,
    lane,
    random_logits,
    rounds_of,
    run,
    scripted_logits,
    summary_of,
    table,
)

EOS, OTHER_EOS = 1, 7
PROMPT = (0, 6)


def _greedy(**changes) -> DecodingConfig:
    return DecodingConfig(**{"lookahead": 8, "max_new_tokens": 50, **changes})


def _scripted(*script: int):
    return table(scripted_logits(8, script, len(PROMPT), after=5), 8)


def _wrong_at(model, place: int):
    """A certain drafter that knows the script but for one place."""

    def guess(prefix):
        right = int(model.row(prefix).argmax())
        return (right + 1) % 8 if len(prefix) == len(PROMPT) + place else right

    return lambda capacity: CertainDrafter(guess, 8)


# --- H2: the end token ---------------------------------------------------------------


@pytest.mark.parametrize("lookahead", range(9))
@pytest.mark.parametrize("place", range(5))
def test_an_end_token_ends_the_run_wherever_it_stands(lookahead, place):
    """H2."""
    script = [2, 3, 4, 5, 2][:place]
    target = _scripted(*script, EOS, 3, 4)
    settings = _greedy(lookahead=lookahead)
    summary = run(target, drafting(target), settings, prompt=PROMPT, eos_ids=(EOS,))
    assert summary.tokens == (*script, EOS)
    assert summary.text == "".join(f" {i}" for i in script)
    assert summary.stop_reason is StopReason.EOS
    assert is_consistent(summary.counts)


@pytest.mark.parametrize(
    ("lookahead", "wrong", "origin"),
    [(8, None, Origin.ACCEPTED), (3, None, Origin.BONUS), (8, 3, Origin.RESAMPLED)],
)
def test_an_end_token_of_every_origin_ends_the_run(lookahead, wrong, origin):
    """H2."""
    target = _scripted(2, 3, 4, EOS, 5)
    new_drafter = drafting(target) if wrong is None else _wrong_at(target, wrong)
    events = events_of(
        target, new_drafter, _greedy(lookahead=lookahead), prompt=PROMPT, eos_ids=(EOS,)
    )
    last = rounds_of(events)[-1].tokens[-1]
    assert (last.token_id, last.origin, last.text) == (EOS, origin, "")
    assert summary_of(events).tokens == (2, 3, 4, EOS)


def test_proposals_after_an_end_token_are_drafted_but_not_tested():
    """H2."""
    target = _scripted(2, EOS, 3, 4)
    events = events_of(
        target, drafting(target), _greedy(), prompt=PROMPT, eos_ids=(EOS,)
    )
    (only,) = rounds_of(events)
    assert (only.counts.drafted, only.counts.tested, only.counts.accepted) == (8, 2, 2)
    assert [p.verdict for p in only.places[2:]] == ["discarded"] * 6
    assert all(p.uniform is None and p.target_probability is None
               for p in only.places[2:])  # fmt: skip


def test_the_second_of_two_end_tokens_ends_the_run():
    """H2."""
    target = _scripted(2, 3, OTHER_EOS, 4)
    summary = run(
        target, drafting(target), _greedy(), prompt=PROMPT, eos_ids=(EOS, OTHER_EOS)
    )
    assert summary.tokens == (2, 3, OTHER_EOS)


@pytest.mark.parametrize("lookahead", [0, 1, 8])
def test_an_ignored_end_token_is_a_token_like_any_other(lookahead):
    """H2."""
    target = _scripted(2, EOS, 3)
    settings = _greedy(lookahead=lookahead, ignore_eos=True)
    summary = run(target, drafting(target), settings, prompt=PROMPT, eos_ids=(EOS,))
    assert len(summary.tokens) == 50
    assert summary.stop_reason is StopReason.LENGTH
    assert summary.text.startswith(" 2 1 3 5")


# --- H3: the limit -------------------------------------------------------------------


@pytest.mark.parametrize("limit", range(1, 11))
def test_a_run_emits_exactly_the_tokens_asked_for(limit):
    """H3."""
    target = table(random_logits(8, 1), 8)
    for new_drafter in (drafting(target), drafting(table(random_logits(8, 2), 8))):
        for temperature in (0.0, 1.0):
            settings = _greedy(max_new_tokens=limit, temperature=temperature)
            summary = run(target, new_drafter, settings)
            assert summary.counts.emitted == len(summary.tokens) == limit
            assert summary.stop_reason is StopReason.LENGTH
            assert is_consistent(summary.counts)


@pytest.mark.parametrize("limit", [1, 7, 64])
def test_a_shorter_run_is_a_beginning_of_plain_decoding(limit):
    """H3."""
    settings = _greedy(lookahead=5, max_new_tokens=limit)
    plain = run(toy(), None, _greedy(max_new_tokens=64)).tokens
    assert run(toy(), drafting(toy(seed=1)), settings).tokens == plain[:limit]


# --- H10: the context ----------------------------------------------------------------


def _prompt(length: int) -> tuple[int, ...]:
    return tuple((7 * i) % 30 for i in range(length))


@pytest.mark.parametrize(("length", "emitted"), [(58, 6), (63, 1), (44, 20)])
def test_a_run_ends_where_the_targets_context_does(length, emitted):
    """H10."""
    target, draft = toy(positions=64), toy(seed=1, positions=64)
    settings = _greedy(max_new_tokens=20)
    plain = run(target, None, settings, prompt=_prompt(length))
    fast = run(target, drafting(draft), settings, prompt=_prompt(length))
    assert len(fast.tokens) == emitted
    assert fast.tokens == plain.tokens
    reason = StopReason.LENGTH if emitted == 20 else StopReason.CONTEXT
    assert fast.stop_reason is plain.stop_reason is reason


@pytest.mark.parametrize("length", [64, 70])
def test_a_prompt_without_room_is_refused_in_words(length):
    """H10."""
    target = toy(positions=64)
    for new_drafter in (None, drafting(toy(seed=1, positions=64))):
        with pytest.raises(ContextLengthError, match=f"{length} tokens"):
            lane(target, new_drafter, _greedy(), prompt=_prompt(length))


@pytest.mark.parametrize("length", [20, 31, 32, 40])
def test_a_full_draft_context_ends_proposals_not_the_run(length):
    """H10."""
    target, draft = toy(positions=64), toy(seed=1, positions=32)
    settings = _greedy(max_new_tokens=20)
    events = events_of(target, drafting(draft), settings, prompt=_prompt(length))
    assert summary_of(events).tokens == run(
        target, None, settings, prompt=_prompt(length)
    ).tokens  # fmt: skip
    notes = [e for e in events if isinstance(e, Noted)]
    assert len(notes) == 1
    assert "32 tokens" in notes[0].sentence
    after = [r for r in rounds_of(events) if r.position >= notes[0].position]
    assert {r.lookahead for r in after} == {0}


def test_a_draft_that_missed_tokens_catches_up_before_it_proposes():
    """DESIGN.md 1: K may be 0 for a while; then the draft reads what it missed."""
    target, draft = table(random_logits(8, 1), 8), table(random_logits(8, 2), 8)
    start = _greedy(max_new_tokens=90, temperature=1.0)
    seen = [0]

    def wish():
        seen[0] += 1
        return _greedy(temperature=1.0, lookahead=(0, 4)[seen[0] % 40 < 10])

    events = events_of(target, drafting(draft), start, wish=wish)
    assert {0, 4} <= {r.lookahead for r in rounds_of(events)}
    assert len(summary_of(events).tokens) == 90


# --- H17: stop strings ---------------------------------------------------------------

PIECES = ["one", " t", "wo", " E", "N", "D", " th", "ree", "!", "?"]
STOPS = [("END", "one two "), ("D th", "one two EN"), (" two E", "one")]


def _stop_run(stop: str, lookahead: int, draft_seed: int | None):
    target = table(scripted_logits(10, range(8), 1, after=8), 10)
    new_drafter = drafting(
        target if draft_seed is None else table(random_logits(10, draft_seed), 10)
    )
    settings = _greedy(lookahead=lookahead, stop=(stop,))
    return events_of(
        target, new_drafter, settings, prompt=(9,), tokenizer=PieceTokenizer(PIECES)
    )


@pytest.mark.parametrize("lookahead", range(9))
@pytest.mark.parametrize(("stop", "text"), STOPS)
@pytest.mark.parametrize("draft_seed", [None, 3])
def test_a_stop_string_ends_the_text_before_it(stop, text, lookahead, draft_seed):
    """H17: the same text for all K, and no flash of the stop string before."""
    events = _stop_run(stop, lookahead, draft_seed)
    summary = summary_of(events)
    assert summary.text == text
    assert summary.stop_reason is StopReason.STOP
    assert is_consistent(summary.counts)
    shown = ""
    for event in rounds_of(events)[:-1]:
        shown += "".join(t.text for t in event.tokens)
        visible = shown[: len(shown) - event.held_characters]
        assert text.startswith(visible)


def test_a_stop_string_counts_all_its_tokens():
    """H17: it trims text, never counts."""
    summary = summary_of(_stop_run("D th", 8, None))
    assert summary.tokens == tuple(range(7))
    assert summary.counts.emitted == 7


def test_the_first_stop_string_in_the_text_wins():
    """H17."""
    target = table(scripted_logits(10, range(8), 1), 10)
    settings = _greedy(stop=("END", "EN", "two E"))
    summary = run(
        target,
        drafting(target),
        settings,
        prompt=(9,),
        tokenizer=PieceTokenizer(PIECES),
    )
    assert summary.text == "one "


def test_a_drafter_is_told_only_what_was_committed_before_a_stop():
    """H17: the caches end at the stop."""
    target = table(scripted_logits(10, range(8), 1), 10)
    made: list[DraftModel] = []

    def new_drafter(capacity):
        made.append(DraftModel(target, capacity))
        return made[-1]

    settings = _greedy(stop=("D th",))
    run(target, new_drafter, settings, prompt=(9,), tokenizer=PieceTokenizer(PIECES))
    assert made[0]._runner.length <= 1 + 7 - 1
