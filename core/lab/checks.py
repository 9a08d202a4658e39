"""What a check of losslessness says. Standard library only, for whoever shows it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """One check of a pair.

    Attributes:
        name: what was checked.
        passed: whether it holds.
        statistic: its figure: tokens that agree, a distance, or a chi-square.
        p_value: chance of a larger statistic if all is right; None without chance.
        samples: tokens, paths or draws that were looked at.
        power: chance to notice a law 0.02 away in total variation; None without chance.
        seconds: it took.
        detail: one sentence for people.
        near_tie: it passed although two texts part, since rounding explains it.
    """

    name: str
    passed: bool
    statistic: float
    p_value: float | None
    samples: int
    power: float | None
    seconds: float
    detail: str
    near_tie: bool = False

    @property
    def verdict(self) -> str:
        """PASS, FAIL or NEAR TIE."""
        if not self.passed:
            return "FAIL"
        return "NEAR TIE" if self.near_tie else "PASS"


@dataclass(frozen=True, slots=True)
class CheckStarted:
    """A check begins.

    Attributes:
        name: what is being checked.
        fraction: of all checks that are done, 0 to 1.
    """

    name: str
    fraction: float


@dataclass(frozen=True, slots=True)
class CheckFinished:
    """One check is done.

    Attributes:
        check: what it found.
    """

    check: Check


@dataclass(frozen=True, slots=True)
class ChecksFinished:
    """All checks are done.

    Attributes:
        checks: in the order they ran.
        passed: whether all hold.
        cancelled: some were not run, since the person asked to stop.
    """

    checks: tuple[Check, ...]
    passed: bool
    cancelled: bool = False
