"""What prompt lookup proposes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from core.config import DecodingConfig
from core.drafters.prompt_lookup import LONGEST_MATCH, SHORTEST_MATCH, PromptLookup
from core.drafters.protocol import Prefix
from core.sampling.draws import KeyedDraws

IDS = st.lists(st.integers(0, 2), min_size=1, max_size=40)


def _propose(drafter: PromptLookup, ids: list[int], lookahead: int) -> tuple[int, ...]:
    proposal = drafter.propose(
        Prefix(ids, 1), lookahead, DecodingConfig(), KeyedDraws(0)
    )
    assert proposal.distributions is None
    return proposal.ids


def _slow(ids: list[int], lookahead: int) -> tuple[int, ...]:
    """The latest occurrence of the longest end of the text, and what followed it."""
    for size in range(min(LONGEST_MATCH, len(ids) - 1), SHORTEST_MATCH - 1, -1):
        for end in range(len(ids) - 1, size - 1, -1):
            if ids[end - size : end] == ids[-size:]:
                return tuple(ids[end : end + lookahead])
    return ()


@given(IDS, st.integers(0, 5), st.data())
def test_it_proposes_what_followed_the_latest_longest_match(ids, lookahead, data):
    drafter = PromptLookup(3, 100)
    cut = data.draw(st.integers(1, len(ids)))
    drafter.prefill(ids[: cut - 1])
    for length in range(cut, len(ids) + 1):
        assert _propose(drafter, ids[:length], lookahead) == _slow(
            ids[:length], lookahead
        )[:lookahead]  # fmt: skip


def test_a_text_without_repetition_gets_no_proposal():
    assert _propose(PromptLookup(9, 100), [1, 2, 3, 4, 5], 4) == ()


def test_a_copied_text_is_proposed_as_far_as_it_goes():
    drafter = PromptLookup(9, 100)
    assert _propose(drafter, [1, 2, 3, 4, 5, 1, 2], 3) == (3, 4, 5)
    assert _propose(drafter, [1, 2, 3, 4, 5, 1, 2], 8) == (3, 4, 5, 1, 2)


def test_proposals_follow_the_committed_text_only():
    """Rejected proposals are never indexed: only what was committed is read."""
    drafter = PromptLookup(9, 100)
    ids = [1, 2, 3, 1, 2]
    assert _propose(drafter, ids, 2) == (3, 1)
    drafter.truncate(5)
    assert _propose(drafter, [*ids, 4, 1, 2], 2) == (4, 1)
