from __future__ import annotations

import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import metrics
from core.config import DecodingConfig
from core.events import (
    Counts,
    Lane,
    ModelFacts,
    Noted,
    Origin,
    Place,
    RoundFinished,
    RunStarted,
    SettingsChanged,
    TokenOutcome,
    Verdict,
)
from core.metrics import RunStatistics

SETTINGS = DecodingConfig()
FACTS = ModelFacts("m", "m", 1, 1, 5, 64, "cpu", "float32", 1, True)


def started(lane: Lane = Lane.SPECULATIVE, **changes: object) -> RunStarted:
    event = RunStarted("r", lane, 0, SETTINGS, FACTS, None, ())
    return dataclasses.replace(event, **changes)  # type: ignore[arg-type]


def round_of(
    lookahead: int,
    accepted: int,
    *,
    ends_inside: bool = False,
    settings: DecodingConfig = SETTINGS,
    lane: Lane = Lane.SPECULATIVE,
) -> RoundFinished:
    """Make the event of a round; one that ends inside drops its last draw."""
    verdicts = [Verdict.ACCEPTED] * accepted
    last = [] if ends_inside else [Origin.BONUS]
    refused = accepted < lookahead and not ends_inside
    if refused:
        verdicts.append(Verdict.REFUSED)
        last = [Origin.RESAMPLED]
    verdicts += [Verdict.DISCARDED] * (lookahead - len(verdicts))
    places = tuple(Place(i, 1, "a", v, 0.5) for i, v in enumerate(verdicts, start=1))
    origins = [Origin.ACCEPTED] * accepted + last
    tokens = tuple(TokenOutcome(1, "a", origin) for origin in origins)
    bonus = len(last) - refused
    counts = Counts(
        1, lookahead, accepted + refused, accepted, refused, bonus, len(tokens)
    )
    return RoundFinished(
        "r", lane, 0, 0, settings, lookahead, places, tokens, counts, 1, 2, 3, 4, 10
    )


def statistics_of(*rounds: RoundFinished) -> RunStatistics:
    statistics = RunStatistics()
    for event in (started(), *rounds):
        statistics.on_event(event)
    return statistics


rounds = st.integers(0, 16).flatmap(
    lambda k: st.tuples(st.just(k), st.integers(0, k)).map(lambda t: round_of(*t))
)
rates = st.floats(0, 1)
costs = st.floats(0.01, 100)


def test_a_ratio_with_nothing_under_it_is_none():
    nothing = Counts()
    assert metrics.acceptance_rate(nothing) is None
    assert metrics.draft_efficiency(nothing) is None
    assert metrics.tokens_per_round(nothing) is None
    assert metrics.papers_acceptance(nothing) is None


def test_every_ratio_by_hand():
    # Two rounds with K = 4: two accepted and one resampled, then all four and a bonus.
    counts = Counts(2, 8, 7, 6, 1, 1, 8)
    assert metrics.is_consistent(counts)
    assert metrics.acceptance_rate(counts) == 6 / 7
    assert metrics.draft_efficiency(counts) == 6 / 8
    assert metrics.tokens_per_round(counts) == 4
    assert metrics.papers_acceptance(counts) == 8 / 10


def test_plain_decoding_has_the_papers_acceptance_of_one():
    counts = Counts(rounds=5, bonus=5, emitted=5)
    assert metrics.papers_acceptance(counts) == 1
    assert metrics.acceptance_rate(counts) is None


@pytest.mark.parametrize("name", ["rounds", "tested", "accepted", "bonus", "emitted"])
def test_counts_that_do_not_add_up_are_told(name: str):
    counts = Counts(4, 8, 7, 6, 1, 3, 10)
    wrong = dataclasses.replace(counts, **{name: getattr(counts, name) + 2})
    assert metrics.is_consistent(counts)
    assert not metrics.is_consistent(wrong)


@pytest.mark.parametrize("lookahead", range(17))
def test_the_law_of_a_round_by_its_two_ends(lookahead: int):
    never, always = (metrics.round_law(a, lookahead) for a in (0.0, 1.0))
    assert never[1] == 1
    assert always[lookahead + 1] == 1
    assert set(never) == set(range(1, lookahead + 2))


@given(rates, st.integers(0, 16))
def test_the_law_of_a_round_sums_to_one_and_has_the_expected_mean(a: float, k: int):
    law = metrics.round_law(a, k)
    assert math.isclose(sum(law.values()), 1, abs_tol=1e-12)
    mean = sum(tokens * share for tokens, share in law.items())
    assert math.isclose(mean, metrics.expected_tokens(a, k), abs_tol=1e-10)


def test_the_law_is_summed_over_the_rounds_own_lookahead():
    law = metrics.tokens_per_round_law(0.5, [2, 2, 0])
    assert law == {1: 2 * 0.5 + 1, 2: 2 * 0.25, 3: 2 * 0.25}
    assert law == metrics.tokens_per_round_law(0.5, {2: 2, 0: 1})


@given(st.integers(1, 16), st.floats(0.001, 0.999))
def test_at_the_break_even_acceptance_nothing_is_won_or_lost(k: int, a: float):
    plain_ms = 10.0
    verify_ms = plain_ms * metrics.expected_tokens(a, k)
    found = metrics.break_even_acceptance(k, 0.0, verify_ms, plain_ms)
    assert found is not None
    assert found == pytest.approx(a, abs=1e-9)
    speedup = metrics.predicted_speedup(found, k, 0.0, verify_ms, plain_ms)
    assert speedup == pytest.approx(1)


@given(st.integers(0, 16), costs, costs, costs)
def test_break_even_is_none_or_a_rate_below_one(
    k: int, draft: float, verify: float, plain: float
):
    found = metrics.break_even_acceptance(k, draft, verify, plain)
    if draft + verify >= (k + 1) * plain and draft + verify > plain:
        assert found is None
    else:
        assert found is not None
        assert 0 <= found <= 1


def test_break_even_by_hand():
    assert metrics.break_even_acceptance(1, 5, 10, 10) == pytest.approx(0.5)
    assert metrics.break_even_acceptance(4, 0, 8, 10) == 0
    assert metrics.break_even_acceptance(1, 10, 10, 10) is None
    assert metrics.break_even_acceptance(0, 0, 11, 10) is None
    assert metrics.break_even_acceptance(4, 1, 1, 0) is None


@given(rates, rates, st.integers(0, 16), costs, costs, costs)
def test_predicted_speedup_never_falls_with_acceptance(
    a: float, b: float, k: int, draft: float, verify: float, plain: float
):
    low, high = sorted((a, b))
    slow = metrics.predicted_speedup(low, k, draft, verify, plain)
    fast = metrics.predicted_speedup(high, k, draft, verify, plain)
    assert slow is not None
    assert fast is not None
    assert slow <= fast * (1 + 1e-12)


def test_predicted_speedup_without_costs_is_none():
    assert metrics.predicted_speedup(0.5, 4, 0, 0, 10) is None


@given(st.lists(rounds, max_size=30))
def test_statistics_keep_the_identities(events: list[RoundFinished]):
    statistics = statistics_of(*events)
    assert metrics.is_consistent(statistics.counts)
    histogram = statistics.tokens_per_round_histogram()
    assert sum(histogram.values()) == statistics.counts.rounds == len(events)
    tokens = sum(t * n for t, n in histogram.items())
    assert tokens == statistics.counts.emitted
    law = statistics.tokens_per_round_law()
    assert sum(law.values()) == pytest.approx(len(events))
    assert set(histogram) <= set(law)


@given(st.lists(rounds, max_size=30))
def test_acceptance_by_place_never_rises_at_constant_lookahead(
    events: list[RoundFinished],
):
    by_place = statistics_of(*[e for e in events if e.lookahead == 4])
    values = [v for v in by_place.acceptance_by_place() if v is not None]
    assert values == sorted(values, reverse=True)


def test_acceptance_by_place_counts_the_rounds_that_drafted_the_place():
    statistics = statistics_of(round_of(4, 4), round_of(4, 1), round_of(2, 2))
    assert statistics.acceptance_by_place() == (1, 2 / 3, 1 / 2, 1 / 2)
    assert statistics.acceptance_rate == 7 / 8


def test_an_end_inside_a_block_still_adds_up():
    statistics = statistics_of(round_of(4, 4), round_of(4, 2, ends_inside=True))
    assert metrics.is_consistent(statistics.counts)
    assert statistics.tokens_per_round_histogram() == {2: 1, 5: 1}


def test_plain_rounds_have_a_law_without_a_rate():
    statistics = statistics_of(round_of(0, 0), round_of(0, 0))
    assert statistics.acceptance_rate is None
    assert statistics.acceptance_by_place() == ()
    assert statistics.tokens_per_round_law() == {1: 2}


def test_before_the_first_round_there_is_nothing():
    statistics = RunStatistics()
    assert statistics.counts == statistics.since_change == Counts()
    assert statistics.acceptance_by_place() == ()
    assert statistics.tokens_per_round_law() == {}
    assert not statistics.mixed_settings


def test_drafted_but_never_judged_has_no_law():
    silent = round_of(2, 0, ends_inside=True)
    assert statistics_of(silent).tokens_per_round_law() == {}


def changed(after: DecodingConfig) -> SettingsChanged:
    return SettingsChanged("r", Lane.SPECULATIVE, 5, SETTINGS, after)


def test_a_change_of_settings_starts_the_plots_anew_and_keeps_the_whole():
    wide = DecodingConfig(lookahead=8)
    statistics = statistics_of(round_of(4, 4))
    statistics.on_event(changed(wide))
    assert statistics.mixed_settings
    assert statistics.since_change == Counts()
    statistics.on_event(round_of(8, 3, settings=wide))
    assert statistics.since_change == Counts(1, 8, 4, 3, 1, 0, 4)
    assert statistics.counts == Counts(2, 12, 8, 7, 1, 1, 9)
    assert statistics.tokens_per_round_histogram() == {4: 1}


def test_settings_changed_before_the_first_round_do_not_mix():
    wide = DecodingConfig(lookahead=8)
    statistics = RunStatistics()
    for event in (started(), changed(wide), round_of(8, 8, settings=wide)):
        statistics.on_event(event)
    assert not statistics.mixed_settings


def test_a_round_under_other_settings_counts_as_a_change():
    wide = DecodingConfig(lookahead=8)
    statistics = statistics_of(round_of(4, 4), round_of(8, 8, settings=wide))
    assert statistics.mixed_settings
    assert statistics.since_change.rounds == 1


def test_each_run_starts_from_nothing():
    statistics = statistics_of(round_of(4, 4), round_of(2, 1))
    statistics.on_event(started(repeat=1))
    assert statistics.counts == Counts()
    assert statistics.tokens_per_round_histogram() == {}


def test_the_other_lane_passes_unseen():
    statistics = statistics_of(round_of(4, 4))
    before = statistics.counts
    statistics.on_event(started(Lane.PLAIN))
    statistics.on_event(round_of(0, 0, lane=Lane.PLAIN))
    statistics.on_event(Noted("r", Lane.SPECULATIVE, 0, "A note."))
    assert statistics.counts == before
