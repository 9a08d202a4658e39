"""CPU kernels that draw from one row of a vocabulary, or hold two against each other.

The noise of a token is a hash of its id; it is made with vectors, a block of tokens at
a time, and the logarithm only taken for the few that can still win.
"""

from __future__ import annotations

import math

import numpy as np

from core.runtime.kernels import kernel, part

_BLOCK = 128  # tokens whose noise is made at once, with vectors


@part
def _noise(key: int, first: int, units: np.ndarray) -> None:
    """Set ``units`` to the numbers in (0, 1] of the tokens from ``first``."""
    state = np.uint64(key) + np.uint64(first) * np.uint64(0x9E3779B97F4A7C15)
    for i in range(len(units)):
        state += np.uint64(0x9E3779B97F4A7C15)
        x = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        x = x ^ (x >> np.uint64(31))
        units[i] = (np.float64(x >> np.uint64(11)) + 1.0) * 2.0**-53


@part
def _any_above(weights: np.ndarray) -> bool:
    """Return whether any weight is above 0."""
    found = 0
    for i in range(len(weights)):
        found += weights[i] > 0.0
    return found > 0


@part
def _can_win(weights: np.ndarray, units: np.ndarray, bar: float) -> bool:
    """Return whether any token may arrive before ``bar``.

    -log(u) >= 1 - u: whoever cannot by that bound needs no logarithm.
    """
    found = 0
    for i in range(len(weights)):
        found += (1.0 - units[i]) < bar * weights[i]
    return found > 0


@kernel
def race(weights: np.ndarray, key: int) -> tuple[int, float]:
    """Return the winner of the exponential race and its margin (see draws)."""
    best, second, winner = np.inf, np.inf, 0
    noise = np.empty(_BLOCK, np.float64)
    for first in range(0, weights.shape[0], _BLOCK):
        block = weights[first : first + _BLOCK]
        if not _any_above(block):
            continue
        units = noise[: len(block)]
        _noise(key, first, units)
        if not _can_win(block, units, second):
            continue
        for i in range(len(block)):
            if not 1.0 - units[i] < second * block[i]:
                continue
            arrival = -math.log(units[i]) / np.float64(block[i])
            if arrival < best:
                second, best, winner = best, arrival, first + i
            elif arrival < second:
                second = arrival
    if second == np.inf or best == 0.0:
        return winner, np.inf
    return winner, math.log(second / best)


@part
def _add_minima(draft: np.ndarray, target: np.ndarray, sums: np.ndarray) -> None:
    for i in range(len(sums)):
        d, t = np.float64(draft[i]), np.float64(target[i])
        sums[i] += d if d < t else t


@part
def _add_products(draft: np.ndarray, target: np.ndarray, sums: np.ndarray) -> None:
    for i in range(len(sums)):
        sums[i] += np.float64(draft[i]) * np.float64(target[i])


@part
def _lead(
    weights: np.ndarray, units: np.ndarray, first: int, best: float, winner: int
) -> tuple[float, int]:
    """Return the best arrival and its token after one more block."""
    if _can_win(weights, units, best):
        for i in range(len(weights)):
            if 1.0 - units[i] < best * weights[i]:
                arrival = -math.log(units[i]) / np.float64(weights[i])
                if arrival < best:
                    best, winner = arrival, first + i
    return best, winner


@kernel
def compare(
    draft: np.ndarray, target: np.ndarray, key: int
) -> tuple[float, float, bool]:
    """Compare two distributions of one place in one pass.

    Returns:
        The sums over the vocabulary of min(draft, target) and of draft * target, and
        whether the exponential race with the noise of ``key`` has the same winner.
    """
    best_draft, best_target, winner_draft, winner_target = np.inf, np.inf, -1, -1
    noise = np.empty(_BLOCK, np.float64)
    least, both = np.zeros(_BLOCK, np.float64), np.zeros(_BLOCK, np.float64)
    for first in range(0, target.shape[0], _BLOCK):
        drafts, targets = draft[first : first + _BLOCK], target[first : first + _BLOCK]
        drawn, any_target = _any_above(drafts), _any_above(targets)
        if not drawn and not any_target:
            continue
        units = noise[: len(targets)]
        _noise(key, first, units)
        if drawn:
            _add_minima(drafts, targets, least[: len(drafts)])
            _add_products(drafts, targets, both[: len(drafts)])
            best_draft, winner_draft = _lead(
                drafts, units, first, best_draft, winner_draft
            )
        best_target, winner_target = _lead(
            targets, units, first, best_target, winner_target
        )
    return least.sum(), both.sum(), winner_draft == winner_target
