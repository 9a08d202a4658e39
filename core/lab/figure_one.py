"""Figure 1 of arXiv:2302.01318 for a pair of one's own, from the cells of a sweep.

Three panels over K: the time for 128 tokens with its spread, emitted / (K + 1), the
time of a round. Beside what was measured stands Leviathan's closed form
(arXiv:2211.17192, equation 1) from one acceptance rate and the recorded step costs.
Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from core import metrics
from core.events import Counts, StepCosts
from core.lab.cost_model import one_rate, predict
from core.lab.sweep_events import ALL_KINDS, AUTO, FIGURE_TOKENS, SweepCell


@dataclass(frozen=True, slots=True)
class FigureCurve:
    """One prompt kind at one temperature; every list is by K, None where not measured.

    Attributes:
        prompt_kind: of the prompts.
        temperature: of both models.
        lookaheads: each K.
        ms_128: mean time of 128 tokens.
        spread: its standard deviation over the decodings.
        p90: its 90th percentile.
        share: emitted / (K + 1), the paper's acceptance.
        round_ms: time of a round.
        acceptance: accepted over tested of all K together.
        closed_ms_128: time of 128 tokens by the closed form; PREDICTED.
        closed_share: emitted / (K + 1) by the closed form; PREDICTED.
        closed_round_ms: a round by the step costs; PREDICTED.
    """

    prompt_kind: str
    temperature: float
    lookaheads: tuple[int, ...]
    ms_128: tuple[float | None, ...]
    spread: tuple[float | None, ...]
    p90: tuple[float | None, ...]
    share: tuple[float | None, ...]
    round_ms: tuple[float | None, ...]
    acceptance: float | None
    closed_ms_128: tuple[float, ...]
    closed_share: tuple[float, ...]
    closed_round_ms: tuple[float, ...]


def figure_curves(
    cells: Iterable[SweepCell], costs: StepCosts
) -> tuple[FigureCurve, ...]:
    """Return a curve for each prompt kind and temperature of a sweep, over fixed K."""
    groups: dict[tuple[str, float], list[SweepCell]] = {}
    for cell in cells:
        if cell.prompt_kind != ALL_KINDS and cell.lookahead != AUTO:
            groups.setdefault((cell.prompt_kind, cell.temperature), []).append(cell)
    return tuple(
        _curve(kind, temperature, sorted(group, key=lambda c: c.lookahead), costs)
        for (kind, temperature), group in groups.items()
    )


def _curve(
    kind: str, temperature: float, cells: Sequence[SweepCell], costs: StepCosts
) -> FigureCurve:
    rate = metrics.acceptance_rate(sum((cell.counts for cell in cells), Counts()))
    lookaheads = tuple(cell.lookahead for cell in cells)
    closed = []
    if rate is not None:
        acceptance, greedy = one_rate(rate), temperature == 0
        closed = [predict(costs, acceptance, k, greedy=greedy) for k in lookaheads]
    return FigureCurve(
        prompt_kind=kind,
        temperature=temperature,
        lookaheads=lookaheads,
        ms_128=tuple(cell.ms_128_mean for cell in cells),
        spread=tuple(cell.ms_128_spread for cell in cells),
        p90=tuple(cell.ms_128_p90 for cell in cells),
        share=tuple(cell.papers_acceptance for cell in cells),
        round_ms=tuple(cell.round_ms for cell in cells),
        acceptance=rate,
        closed_ms_128=tuple(FIGURE_TOKENS * p.ms_per_token for p in closed),
        closed_share=tuple(p.tokens / (p.lookahead + 1) for p in closed),
        closed_round_ms=tuple(p.round_ms for p in closed),
    )
