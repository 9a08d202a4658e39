"""One-pass CPU kernels for rows of a vocabulary; torch does the same where they cannot.

A draw in torch makes a dozen passes over the row. Here it is one, and the logarithm is
only taken for the few tokens that can still win.
"""

from __future__ import annotations

import math

import numpy as np

try:
    from core.runtime.kernels import kernel
except ImportError:  # Numba is not made for every system
    kernel = None

AVAILABLE = kernel is not None

TOP = 8  # candidates shown of each distribution


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


def _best(rows: np.ndarray) -> np.ndarray:
    """Return the arg-max of each row, ties to the lowest id."""
    ids = np.zeros(rows.shape[0], np.int64)
    for n in range(rows.shape[0]):
        best = rows[n, 0]
        for token in range(1, rows.shape[1]):
            if rows[n, token] > best:
                best, ids[n] = rows[n, token], token
    return ids


def _keep_best(rows: np.ndarray, last: np.ndarray, count: int) -> None:
    """Keep ``count`` values of each row, in place; the others become -inf.

    ``last`` holds each row's smallest value to keep; ties go to the lowest id.
    """
    for n in range(rows.shape[0]):
        room = count
        for token in range(rows.shape[1]):
            room -= rows[n, token] > last[n]
        for token in range(rows.shape[1]):
            if rows[n, token] == last[n] and room > 0:
                room -= 1
            elif rows[n, token] <= last[n]:
                rows[n, token] = -np.inf


def _keep_nucleus(rows: np.ndarray, mass: float) -> None:
    """Zero what lies outside the nucleus of each row, in place; not normalised.

    A histogram by exponent and three bits of the mantissa finds the bin in which the
    mass is reached; only that bin is sorted.
    """
    for n in range(rows.shape[0]):
        bits = rows[n].view(np.int32)
        sums = np.zeros(_BINS, np.float64)
        for token in range(rows.shape[1]):
            sums[bits[token] >> _SHIFT] += rows[n, token]
        above, edge = 0.0, _BINS - 1
        while edge > 0 and above + sums[edge] < mass:
            above += sums[edge]
            edge -= 1
        inside = np.sort(rows[n][(bits >> _SHIFT) == edge])[::-1]
        threshold = inside[-1] if inside.size else np.float32(0.0)
        for value in inside:
            above += value
            if above >= mass:
                threshold = value
                break
        for token in range(rows.shape[1]):
            if rows[n, token] < threshold:
                rows[n, token] = 0.0


_SHIFT = 20
_BINS = (0x7F800000 >> _SHIFT) + 1  # the bits of a float32 sort like the number

if kernel is not None:
    race, compare, largest = kernel(_race), kernel(_compare), kernel(_largest)
    best, keep_best = kernel(_best), kernel(_keep_best)
    keep_nucleus = kernel(_keep_nucleus)
else:
    race, compare, largest = _race, _compare, _largest
    best, keep_best, keep_nucleus = _best, _keep_best, _keep_nucleus
