"""The numbers of a report: verdict, totals of the lanes, repeats."""

from __future__ import annotations

from core import metrics
from core.events import DivergenceKind, JudgedSpeed, Lane, LaneSummary, RaceFinished
from core.lab.report_facts import RunFacts
from core.lab.report_html import DASH, Row, number, safe, table, times, yes


def verdict(facts: RunFacts) -> str:
    """Return the speed-up and what it is worth; of a run, its rate."""
    race = facts.race
    if race is None:
        return _rate_of(facts)
    figure = times(race.speedup.median)
    spread = f"{times(race.speedup.low)} to {times(race.speedup.high)}"
    races = "race" if race.speedup.repeats == 1 else "races"
    over = f"{spread} plain decoding's speed over {race.speedup.repeats} {races}"
    judged = race.verdict.value.capitalize()
    judged = "No verdict" if race.verdict is JudgedSpeed.NONE else judged
    sentence = f"{judged}: {over}, {_same(race)}. {_break_even(race)}"
    return f'<p class="figure">{figure}</p><p>{safe(sentence)}</p>'


def _rate_of(facts: RunFacts) -> str:
    rates = [e.summary.tokens_per_second for e in facts.ends[-1:]]
    rate = DASH if not rates or rates[0] is None else f"{rates[0]:.1f}"
    return f'<p class="figure">{rate}</p><p>tokens per second</p>'


def _same(race: RaceFinished) -> str:
    if race.identical is None:
        return "texts from the same distribution"
    if race.identical:
        return "the same tokens in both lanes"
    parted = race.divergence
    if parted is None:
        return "not the same tokens"
    fault = parted.kind is DivergenceKind.BUG
    kind = "a fault" if fault else "a near tie, which rounding decides"
    return f"the texts part at token {parted.position + 1}: {kind}"


def _break_even(race: RaceFinished) -> str:
    measured = number(race.acceptance_rate)
    if race.break_even_acceptance is None:
        return f"No acceptance breaks even at this cost (measured {measured})."
    limit = number(race.break_even_acceptance)
    return f"Breaks even at an acceptance of {limit}; measured {measured}."


def lanes(facts: RunFacts) -> str:
    """Return each lane's totals; of a race medians, with the spread over repeats."""
    columns = {lane: _column(facts, lane) for lane in facts.lanes}
    columns = {lane: column for lane, column in columns.items() if column}
    rows = [
        (name, *(column[i] for column in columns.values()))
        for i, name in enumerate(_NAMES)
    ]
    return table(("", *(lane.value for lane in columns)), rows)


_NAMES = (
    *("ms per token", "over the repeats", "tokens per second", "first token, ms"),
    *("total, ms", "tokens", "rounds", "drafted", "tested", "accepted", "resampled"),
    *("bonus", "acceptance rate", "draft efficiency", "tokens per round"),
    *("paper's acceptance", "ended by"),
)


def _column(facts: RunFacts, lane: Lane) -> Row:
    ends = [e.summary for e in facts.ends if e.lane is lane]
    if facts.race is not None:
        race = facts.race
        return _figures(race.plain if lane is Lane.PLAIN else race.speculative, ends)
    return _figures(ends[-1], ends) if ends else ()


def _figures(summary: LaneSummary, ends: list[LaneSummary]) -> Row:
    counts = summary.counts
    times_ms = [s.ms_per_token for s in ends if s.ms_per_token is not None]
    many = len(times_ms) > 1
    spread = f"{min(times_ms):.2f} to {max(times_ms):.2f}" if many else DASH
    return (
        *(number(summary.ms_per_token), spread, number(summary.tokens_per_second)),
        *(number(summary.time_to_first_token_ms), number(summary.total_ms)),
        *(counts.emitted, counts.rounds, counts.drafted, counts.tested),
        *(counts.accepted, counts.resampled, counts.bonus),
        number(metrics.acceptance_rate(counts)),
        number(metrics.draft_efficiency(counts)),
        number(metrics.tokens_per_round(counts)),
        number(metrics.papers_acceptance(counts)),
        summary.stop_reason.value,
    )


def repeats(facts: RunFacts) -> str:
    """Return each repeat of a race."""
    rows = [
        (r.repeat, times(r.speedup), times(r.total_speedup), yes(r.counted))
        for r in facts.repeats
    ]
    headings = ("repeat", "speed-up", "with prefill", "counted")
    return f"<h3>Repeats</h3>{table(headings, rows)}" if rows else ""
