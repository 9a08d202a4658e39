"""Goodness of fit, without a library of statistics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

SMALLEST_CELL = 5.0  # expected counts below it are poured together (Cochran 1954)


@dataclass(frozen=True, slots=True)
class Fit:
    """How well counts fit a law (Pearson's chi-square).

    Attributes:
        statistic: sum of (observed - expected)^2 / expected.
        degrees: degrees of freedom.
        p_value: chance of a larger statistic if the law holds; 0 if something was seen
            that cannot be.
        samples: how many draws were counted.
        merged: cells that were poured together, since too little was expected in each.
    """

    statistic: float
    degrees: int
    p_value: float
    samples: int
    merged: int

    def __str__(self) -> str:
        """Return the figures in one line."""
        return (
            f"chi-square {self.statistic:.1f} on {self.degrees} degrees, p "
            f"{self.p_value:.2g}, {self.samples:,} samples, {self.merged} cells merged"
        )


def chi_square(observed: Sequence[float], law: Sequence[float]) -> Fit:
    """Compare counts with a law.

    Args:
        observed: how often each outcome was seen.
        law: the probability of each outcome, in the same order.
    """
    samples = int(sum(observed))
    impossible = sum(o for o, p in zip(observed, law, strict=True) if p <= 0)
    cells, merged = _cells(observed, law, samples)
    statistic = sum((o - e) ** 2 / e for o, e in cells)
    degrees = max(1, len(cells) - 1)
    p_value = 0.0 if impossible else tail(statistic, degrees)
    statistic = math.inf if impossible else statistic
    return Fit(statistic, degrees, p_value, samples, merged)


def _cells(
    observed: Sequence[float], law: Sequence[float], samples: int
) -> tuple[list[tuple[float, float]], int]:
    """Return (observed, expected) of each cell, the small ones poured into one."""
    pairs = [(o, samples * p) for o, p in zip(observed, law, strict=True) if p > 0]
    pairs.sort(key=lambda pair: pair[1])
    pool, merged = (0.0, 0.0), 0
    while pairs and (pairs[0][1] < SMALLEST_CELL or 0 < pool[1] < SMALLEST_CELL):
        small = pairs.pop(0)
        pool, merged = (pool[0] + small[0], pool[1] + small[1]), merged + 1
    return [pool, *pairs] if merged else pairs, merged


def tail(statistic: float, degrees: int) -> float:
    """Return the chance that a chi-square variate exceeds ``statistic``."""
    return _upper_gamma(degrees / 2, statistic / 2)


def _upper_gamma(shape: float, x: float) -> float:
    arguments = torch.tensor([shape, x], dtype=torch.float64)
    return float(torch.special.gammaincc(arguments[0], arguments[1]))


def threshold(degrees: int, alpha: float) -> float:
    """Return the statistic that is exceeded with chance ``alpha``."""
    low, high = 0.0, degrees + 100.0 * math.sqrt(degrees) - 100 * math.log(alpha)
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(middle, degrees) > alpha else (low, middle)
    return high


def power(degrees: int, effect: float, samples: int, alpha: float) -> float:
    """Return the chance to notice a law that is not the one tested.

    A chi-square variate with noncentrality ``samples * effect`` is a Poisson mixture of
    central ones.

    Args:
        degrees: of freedom of the test.
        effect: sum over the cells of (true - tested)^2 / tested.
        samples: draws.
        alpha: the chance of a false alarm that the test allows.
    """
    mean, limit = samples * effect / 2, threshold(degrees, alpha)
    if mean == 0:
        return alpha
    spread = int(12 * math.sqrt(mean) + 40)
    found = 0.0
    for n in range(max(0, int(mean) - spread), int(mean) + spread):
        weight = math.exp(n * math.log(mean) - mean - math.lgamma(n + 1))
        found += weight * tail(limit, degrees + 2 * n)
    return min(1.0, found)


def kolmogorov_smirnov(values: Sequence[float]) -> float:
    """Return the p value of ``values`` being uniform in [0, 1).

    The asymptotic law of Kolmogorov with Stephens' correction for finite samples.
    """
    ordered, n = sorted(values), len(values)
    gap = max(max((i + 1) / n - v, v - i / n) for i, v in enumerate(ordered))
    x = gap * (math.sqrt(n) + 0.12 + 0.11 / math.sqrt(n))
    terms = ((-1) ** (k - 1) * math.exp(-2 * k * k * x * x) for k in range(1, 101))
    return min(1.0, max(0.0, 2 * sum(terms)))
