"""One-pass CPU kernels for rows of a vocabulary; torch does the same where they cannot.

A draw in torch makes a dozen passes over the row. Here it is one, and the logarithm is
only taken for the few tokens that can still win.
"""

from __future__ import annotations

import math

import numpy as np

try:
    from numba import njit
except ImportError:  # pragma: no cover - numba is a dependency; this is a safety net
    AVAILABLE = False
else:
    AVAILABLE = True

TOP = 8


def _race(weights: np.ndarray, key: int) -> tuple[int, float]:
    """Return the winner of the exponential race and its margin (see draws)."""
    best, second, winner = np.inf, np.inf, 0
    state = np.uint64(key)
    for token in range(weights.shape[0]):
        state += np.uint64(0x9E3779B97F4A7C15)
        weight = weights[token]
        if weight <= 0.0:
            continue
        x = state
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        x = x ^ (x >> np.uint64(31))
        unit = (np.float64(x >> np.uint64(11)) + 1.0) * 2.0**-53
        # -log(u) >= 1 - u: whoever cannot be second by that bound needs no logarithm.
        if (1.0 - unit) >= second * weight:
            continue
        arrival = -math.log(unit) / np.float64(weight)
        if arrival < best:
            second, best, winner = best, arrival, token
        elif arrival < second:
            second = arrival
    if second == np.inf or best == 0.0:
        return winner, np.inf
    return winner, math.log(second / best)


def _compare(
    draft: np.ndarray, target: np.ndarray, key: int
) -> tuple[float, float, bool]:
    """Compare two distributions of one place in one pass.

    Returns:
        The sums over the vocabulary of min(draft, target) and of draft * target, and
        whether the exponential race with the noise of ``key`` has the same winner.
    """
    overlap, product = 0.0, 0.0
    best_draft, best_target, winner_draft, winner_target = np.inf, np.inf, -1, -1
    state = np.uint64(key)
    for token in range(target.shape[0]):
        state += np.uint64(0x9E3779B97F4A7C15)
        d, t = np.float64(draft[token]), np.float64(target[token])
        if d <= 0.0 and t <= 0.0:
            continue
        overlap += min(d, t)
        product += d * t
        x = state
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        x = x ^ (x >> np.uint64(31))
        unit = (np.float64(x >> np.uint64(11)) + 1.0) * 2.0**-53
        bound = 1.0 - unit
        if bound < best_draft * d:
            arrival = -math.log(unit) / d
            if arrival < best_draft:
                best_draft, winner_draft = arrival, token
        if bound < best_target * t:
            arrival = -math.log(unit) / t
            if arrival < best_target:
                best_target, winner_target = arrival, token
    return overlap, product, winner_draft == winner_target


def _largest(row: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return ids and values of the ``count`` largest, descending, ties to the lower."""
    ids = np.zeros(count, np.int64)
    values = np.full(count, -np.inf, np.float64)
    for token in range(row.shape[0]):
        value = row[token]
        if value <= values[count - 1]:
            continue
        slot = count - 1
        while slot > 0 and values[slot - 1] < value:
            values[slot] = values[slot - 1]
            ids[slot] = ids[slot - 1]
            slot -= 1
        values[slot] = value
        ids[slot] = token
    return ids, values


if AVAILABLE:
    # nogil: the window must not wait for a kernel.
    race = njit(nogil=True, cache=True)(_race)
    compare = njit(nogil=True, cache=True)(_compare)
    largest = njit(nogil=True, cache=True)(_largest)
else:  # pragma: no cover
    race, compare, largest = _race, _compare, _largest
