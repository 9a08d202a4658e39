"""A race of both lanes: its repeats, its verdict and what it ran on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from core.config import DecodingConfig
from core.events.run import LaneSummary


@dataclass(frozen=True, slots=True)
class RaceStarted:
    """A race begins: a discarded warm-up, then ``repeats`` measured repeats."""

    run_id: str
    repeats: int


@dataclass(frozen=True, slots=True)
class RepeatFinished:
    """One measured repeat of a race ended in both lanes.

    Attributes:
        repeat: from 1.
        speedup: plain over speculative ``ms_per_token``; None if either has none.
        total_speedup: the same of ``total_ms``.
        counted: False when K was changed in it.
    """

    run_id: str
    repeat: int
    speedup: float | None
    total_speedup: float | None
    counted: bool


class JudgedSpeed(StrEnum):
    """What a race says about the pair."""

    HELPS = "helps"
    NEUTRAL = "neutral"
    HURTS = "hurts"
    TOO_SHORT = "too short to judge"
    NONE = "none"  # fewer than three counted repeats


class DivergenceKind(StrEnum):
    """What two different texts that should be equal mean."""

    NEAR_TIE = "near tie"
    BUG = "bug"


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first token at which two lanes that should agree do not.

    Attributes:
        position: index of the emitted token.
        gap: distance of the two best in the scores that chose it, the larger lane's.
        kind: near tie (within rounding) or bug.
    """

    position: int
    gap: float | None
    kind: DivergenceKind


@dataclass(frozen=True, slots=True)
class Speedup:
    """Plain over speculative milliseconds per token.

    Attributes:
        median: over the counted repeats; None without one.
        low: the smallest.
        high: the largest.
        repeats: how many were counted.
        total: median ratio of the total times, prefills included.
    """

    median: float | None
    low: float | None
    high: float | None
    repeats: int
    total: float | None


@dataclass(frozen=True, slots=True)
class Machine:
    """What the numbers were measured on. No names, no paths, no tokens."""

    system: str
    processor: str
    num_cores: int
    memory_bytes: int
    device: str
    python: str
    torch: str
    transformers: str
    draftrace: str


@dataclass(frozen=True, slots=True)
class RaceFinished:
    """A race ended.

    Attributes:
        plain: the plain lane.
        speculative: the speculative lane.
        speedup: with its spread.
        identical: both lanes emitted the same tokens; None where they need not.
        divergence: the first difference where ``identical`` is False.
        verdict: helps, neutral, hurts, or why there is none.
        break_even_acceptance: acceptance rate at which this pair breaks even at the
            measured costs; None if no rate below 1 does or it cannot be computed.
        acceptance_rate: the measured one; None if nothing was tested.
        settings: at the start.
        machine: what it ran on.
        memory_bytes: weights and caches of both lanes.
        cancelled: ended early by the person.
    """

    run_id: str
    plain: LaneSummary
    speculative: LaneSummary
    speedup: Speedup
    identical: bool | None
    divergence: Divergence | None
    verdict: JudgedSpeed
    break_even_acceptance: float | None
    acceptance_rate: float | None
    settings: DecodingConfig
    machine: Machine
    memory_bytes: int
    cancelled: bool = False
