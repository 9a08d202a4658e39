"""The plots of a report, from its facts."""

from __future__ import annotations

from core.events import Lane
from core.lab.report_facts import LaneFacts, RunFacts
from core.lab.svg import Curve, Plot

LOOKS = {Lane.SPECULATIVE: ("accepted", ""), Lane.PLAIN: ("plain", "6 4")}
PARTS = (
    ("draft", "bonus", ""),
    ("verify", "accepted", "6 4"),
    ("rule", "resampled", "2 3"),
    ("other", "plain", "8 3 2 3"),
)


def plots(facts: RunFacts) -> list[Plot]:
    """Return all plots that the run has numbers for."""
    found = [_time_per_token(facts), _rate(facts)]
    lane = facts.lanes.get(Lane.SPECULATIVE)
    if lane is not None:
        found += [_acceptance(lane), _tokens_per_round(lane), _split(lane)]
    return found


def _curve(lane: Lane, points: list[tuple[float, float]]) -> Curve:
    color, dash = LOOKS[lane]
    return Curve(lane.value, color, points, dash)


def _time_per_token(facts: RunFacts) -> Plot:
    curves = []
    for lane, run in facts.lanes.items():
        points, before = [], 0
        for last, *parts in run.times:
            points.append((last, sum(parts) / max(1, last - before)))
            before = last
        curves.append(_curve(lane, points))
    return Plot("Time per token", "token", "ms", tuple(curves))


def _rate(facts: RunFacts) -> Plot:
    curves = (
        _curve(lane, [(n, 1000 * n / ms) for n, ms in run.clock if ms > 0])
        for lane, run in facts.lanes.items()
    )
    return Plot("Tokens per second so far", "token", "tokens per second", tuple(curves))


def _acceptance(lane: LaneFacts) -> Plot:
    shares = lane.statistics.acceptance_by_place()
    bars = tuple(None if s is None else 100 * s for s in shares)
    labels = tuple("" if bar is None else f"{bar:.0f}" for bar in bars)
    empty = "nothing was tested"
    return Plot(
        "Acceptance by place", "place", "%", (), bars, "accepted", empty, 100.0, labels
    )


def _tokens_per_round(lane: LaneFacts) -> Plot:
    measured = lane.statistics.tokens_per_round_histogram()
    law = lane.statistics.tokens_per_round_law()
    longest = max([*measured, *law], default=0)
    bars = tuple(float(measured.get(n, 0)) for n in range(1, longest + 1))
    curve = Curve("law of the measured rate", "resampled", sorted(law.items()), "6 4")
    return Plot("Tokens per round", "tokens", "rounds", (curve,), bars, "bonus")


def _split(lane: LaneFacts) -> Plot:
    curves = tuple(
        Curve(name, color, [(row[0], row[i]) for row in lane.times], dash)
        for i, (name, color, dash) in enumerate(PARTS, start=1)
    )
    return Plot("Time per round, split", "token", "ms", curves)
