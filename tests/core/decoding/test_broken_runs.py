"""Runs that break or are stopped: words, text so far, and the next run works (H18)."""

from __future__ import annotations

import pytest
import torch

from core.config import DecodingConfig
from core.drafters.draft_model import DraftModel
from core.errors import NumericalError
from core.events import (
    PrefillFinished,
    RoundFinished,
    RunFinished,
    RunStarted,
    StopReason,
)
from core.metrics import is_consistent
from core.runtime.runner import PREFILL_CHUNK
from tests.core.tables import drafting, lane, random_logits, run, table

TARGET, DRAFT = random_logits(8, 1), random_logits(8, 2)
SETTINGS = DecodingConfig(lookahead=3, temperature=1.0, max_new_tokens=40)


def _pull(one) -> tuple[list, Exception | None]:
    events = []
    try:
        for event in one.events():
            events.append(event)
    except Exception as error:
        return events, error
    return events, None


def _breaking(kind: str):
    """Return target and drafter of which one breaks in round 5."""
    rounds = [0]

    class Breaking(DraftModel):
        def propose(self, *arguments):
            rounds[0] += 1
            if kind == "raises" and rounds[0] == 5:
                raise RuntimeError("the draft broke")
            return super().propose(*arguments)

    def spoiled(logits, who):
        def row(prefix):
            broken = kind == who and rounds[0] == 5
            value = float("inf") if kind.endswith("infinite") else float("nan")
            return torch.full((8,), value) if broken else logits(prefix).float()

        return row

    target = table(spoiled(TARGET, "target NaN"), 8, name="big")
    draft_kind = kind if kind.startswith("draft") else "-"
    draft = table(spoiled(DRAFT, draft_kind), 8, name="small")
    target._known = draft._known = _Forgetful()
    return target, lambda capacity: Breaking(draft, capacity)


class _Forgetful(dict):
    """Lets a table be asked anew each time."""

    def __contains__(self, key: object) -> bool:
        return False


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("raises", "the draft broke"),
        ("draft NaN", "small returned scores that are not numbers"),
        ("draft infinite", "small returned scores that are not numbers"),
        ("target NaN", "big returned scores that are not numbers"),
    ],
)
def test_a_broken_run_ends_with_words_and_the_text_so_far(kind, words):
    """H18."""
    target, new_drafter = _breaking(kind)
    events, error = _pull(lane(target, new_drafter, SETTINGS))
    finished = events[-1]
    assert isinstance(finished, RunFinished)
    assert finished.summary.stop_reason is StopReason.ERROR
    assert words in finished.error
    assert isinstance(error, RuntimeError if kind == "raises" else NumericalError)
    rounds = [e for e in events if isinstance(e, RoundFinished)]
    assert len(rounds) == 4
    text = "".join(t.text for r in rounds for t in r.tokens)
    assert finished.summary.text == text != ""
    assert len(finished.summary.tokens) == finished.summary.counts.emitted
    assert is_consistent(finished.summary.counts)


def test_the_run_after_a_broken_one_equals_a_fresh_one():
    """H18."""
    target, new_drafter = _breaking("raises")
    fresh = run(table(lambda p: TARGET(p).float(), 8),
                drafting(table(lambda p: DRAFT(p).float(), 8)), SETTINGS)  # fmt: skip
    _, error = _pull(lane(target, new_drafter, SETTINGS))
    assert error is not None
    assert run(target, new_drafter, SETTINGS).tokens == fresh.tokens


@pytest.mark.parametrize("after", [1, 2, 7])
def test_a_stopped_run_ends_before_its_next_round(after):
    """H18."""
    seen = [0]
    one = lane(
        table(TARGET, 8),
        drafting(table(DRAFT, 8)),
        SETTINGS,
        should_stop=lambda: seen[0] >= after,
    )
    for event in one.events():
        seen[0] += isinstance(event, RoundFinished)
    assert seen[0] == after
    assert one.summary.stop_reason is StopReason.CANCELLED
    assert len(one.summary.tokens) == one.summary.counts.emitted > 0


@pytest.mark.parametrize("new_drafter", [None, drafting(table(DRAFT, 8))])
def test_a_run_stopped_in_the_prefill_reads_no_further_chunk(new_drafter):
    """H18."""
    asked = [0]

    def should_stop():
        asked[0] += 1
        return asked[0] > 4  # before and after a chunk

    one = lane(
        table(TARGET, 8),
        new_drafter,
        SETTINGS,
        prompt=[1] * (4 * PREFILL_CHUNK),
        should_stop=should_stop,
    )
    events, error = _pull(one)
    assert error is None
    assert not any(isinstance(e, RoundFinished | PrefillFinished) for e in events)
    assert one._sequence.target.length == 2 * PREFILL_CHUNK
    assert one.summary.stop_reason is StopReason.CANCELLED
    assert one.summary.tokens == ()
    assert one.summary.ms_per_token is None


def test_a_stop_acts_while_a_chunk_is_read():
    """H18: the target may read token by token, so it asks for itself."""
    asked = [0]

    def should_stop():
        asked[0] += 1
        return asked[0] > 1

    one = lane(table(TARGET, 8), None, SETTINGS, should_stop=should_stop)
    events, error = _pull(one)
    assert error is None
    assert [type(event) for event in events] == [RunStarted, RunFinished]


def test_closing_a_run_in_the_middle_is_quiet():
    stream = lane(table(TARGET, 8), drafting(table(DRAFT, 8)), SETTINGS).events()
    for _ in range(5):
        next(stream)
    stream.close()
