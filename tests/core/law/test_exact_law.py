"""The law of whole outputs, summed over every path of the real rounds.

Expected is plain decoding's law, written from DESIGN.md 1 in ``reference``. Nothing is
drawn at random, so these tests cannot fail by chance.
"""

from __future__ import annotations

import pytest

from core.config import DecodingConfig
from core.lab.enumeration import distance, output_law
from tests.core.law.cases import (
    DRAFTERS,
    ENDINGS,
    SETTINGS,
    TABLES,
    Case,
    covering,
)
from tests.core.tables import drafting, random_logits, start, table

EXACT = 1e-12


def _check(*cases: Case) -> None:
    for case in cases:
        assert case.error() < EXACT, case


@pytest.mark.parametrize("settings", ["plain", "greedy", "all"])
@pytest.mark.parametrize("drafter", ["model", "certain"])
def test_the_output_has_plain_decodings_law(settings, drafter):
    tables = ("random", "disjoint", "zeros")
    _check(*(Case(3, 1, t, settings, drafter, "eos") for t in tables))


def test_the_output_has_plain_decodings_law_over_blocks_of_two():
    _check(Case(3, 2, "random", "plain", "model", "stop"))


@pytest.mark.law
@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("drafter", DRAFTERS)
def test_every_small_case_has_plain_decodings_law(settings, drafter):
    """H1, H11 and H12: all tables, K up to 2, vocabulary 3; endings go by turns."""
    endings = list(ENDINGS)
    turn = list(SETTINGS).index(settings) + list(DRAFTERS).index(drafter)
    _check(
        *(
            Case(3, k, t, settings, drafter, endings[(turn + n + k) % len(endings)])
            for n, t in enumerate(TABLES)
            for k in range(3)
        )
    )


LARGER = covering(
    [
        (4, 5),
        (3, 4),
        ("disjoint", "sparse", "target one-hot", "draft one-hot"),
        tuple(SETTINGS),
        DRAFTERS,
        tuple(ENDINGS),
    ]
)


@pytest.mark.law
@pytest.mark.parametrize("row", LARGER, ids=lambda row: "-".join(map(str, row)))
def test_larger_blocks_have_plain_decodings_law(row):
    """Each pair of values of all the knobs occurs, at K of 3 and 4."""
    _check(Case(*row))


@pytest.mark.law
@pytest.mark.slow
@pytest.mark.parametrize("case", [Case(4, 3, "random", "top-k", "model", "limit")])
def test_a_dense_block_of_three_has_plain_decodings_law(case):
    _check(case)


def _live(position: int) -> DecodingConfig:
    hot = position >= 2
    return DecodingConfig(
        lookahead=1 + hot, temperature=1.0 + hot, top_k=2 * hot, max_new_tokens=4
    )


def test_settings_changed_between_rounds_leave_each_token_its_own_law():
    """The round that starts at position 2 or later has the new settings.

    A round from position 1 may reach 2 with the old ones, so plain decoding with the
    same switch has another law; what must agree is each round with its own settings:
    the law given where rounds began. It is summed here for rounds of one token.
    """
    target, draft = table(random_logits(3, 1), 3), table(random_logits(3, 2), 3)

    def one_at_a_time(position: int) -> DecodingConfig:
        live = _live(position)
        return DecodingConfig(
            lookahead=0,
            temperature=live.temperature,
            top_k=live.top_k,
            max_new_tokens=4,
        )

    plain = output_law(start(target, None, _live(0)), one_at_a_time)
    mixed = output_law(start(target, drafting(draft), _live(0)), one_at_a_time)
    assert distance(plain, mixed) < EXACT


def test_covering_rows_hold_every_pair():
    rows = covering([(0, 1, 2), "ab", "xyz", "pq"])
    for i, j in ((0, 1), (0, 2), (1, 3), (2, 3)):
        pairs = {(row[i], row[j]) for row in rows}
        assert len(pairs) == len({r[i] for r in rows}) * len({r[j] for r in rows})
    assert len(rows) < 36
