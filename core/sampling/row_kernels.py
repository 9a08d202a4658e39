"""CPU kernels for one row of a vocabulary, in the order that speed asks for.

Each pass is a plain loop over a block that LLVM turns into vectors; sums are taken
block by block, so their order never changes. Float32 in and out, totals in float64.
"""

from __future__ import annotations

import numpy as np

from core.runtime.kernels import kernel, part
from core.runtime.kernels.elementwise import exp
from core.runtime.kernels.products import add_dot
from core.runtime.kernels.vector import largest as peak_of

_BLOCK = 256
_ONES = np.ones(_BLOCK, dtype=np.float32)
_ZERO = np.float32(0.0)
_LOWEST = np.float32(-87.0)  # e to that is next to the smallest normal number
_SHIFT = 20
_BINS = (0x7F800000 >> _SHIFT) + 1  # the bits of a float32 sort like the number


@part
def _sum(block):
    """Return the sum of ``block``, at most ``_BLOCK`` numbers."""
    total = np.zeros(1, np.float32)
    add_dot(block.ctypes.data, _ONES.ctypes.data, len(block), total.ctypes.data)
    return np.float64(total[0])


@part
def _peak(row):
    return peak_of(row[0], row.ctypes.data, len(row))


@part
def _has_peak(row):
    wrong = 0
    for i in range(len(row)):
        wrong += row[i] != row[i]
    return wrong == 0 and np.isfinite(_peak(row))


@kernel
def has_peak(row):
    """Return whether no element of ``row`` [V] is NaN and its largest is finite."""
    return _has_peak(row)


@part
def _best(row):
    peak = _peak(row)
    for first in range(0, len(row), _BLOCK):
        block = row[first : first + _BLOCK]
        if _count(block, peak) > 0:
            for i in range(len(block)):
                if block[i] == peak:
                    return first + i
    return 0


@part
def _count(block, number):
    found = 0
    for i in range(len(block)):
        found += block[i] == number
    return found


@part
def _count_above(block, number):
    found = 0
    for i in range(len(block)):
        found += block[i] > number
    return found


@part
def _exponentials(scores, peak, factor, out):
    """Set ``out``; return how many were no numbers."""
    wrong = 0
    for i in range(len(out)):
        x = (scores[i] - peak) * factor
        power = exp(x)
        out[i] = power if x > _LOWEST else _ZERO
        wrong += x != x
    return wrong


@kernel
def softmax(scores, temperature, out):
    """Set ``out`` [V] to the distribution of ``scores`` [V] at ``temperature``.

    A probability below 1.6e-38 times the largest is 0. Returns False where a score is
    NaN or the largest is not finite.
    """
    peak, total, wrong = _peak(scores), 0.0, 0
    factor = np.float32(1.0 / temperature)
    for first in range(0, len(out), _BLOCK):
        block = out[first : first + _BLOCK]
        wrong += _exponentials(scores[first : first + _BLOCK], peak, factor, block)
        total += _sum(block)
    share = np.float32(1.0 / total)
    for i in range(len(out)):
        out[i] *= share
    return wrong == 0


@kernel
def favourite(scores, out):
    """Set ``out`` [V] to 1 at the arg-max of ``scores``, ties to the lowest id.

    Returns False where a score is NaN or the largest is not finite.
    """
    out[:] = _ZERO
    out[_best(scores)] = np.float32(1.0)
    return _has_peak(scores)


@part
def _excess(draft, target, out):
    for i in range(len(out)):
        more = target[i] - draft[i]
        out[i] = more if more > _ZERO else _ZERO


@kernel
def residual(draft, target, out):
    """Set ``out`` [V] to norm((target - draft)+), to ``target`` where that is 0."""
    total = 0.0
    for first in range(0, len(out), _BLOCK):
        end = first + _BLOCK
        block = out[first:end]
        _excess(draft[first:end], target[first:end], block)
        total += _sum(block)
    if total == 0.0:
        out[:] = target
        return
    mass = np.float32(total)
    for i in range(len(out)):
        out[i] /= mass


@kernel
def largest(row, count):
    """Return ids and values of the ``count`` largest, descending, ties to the lower."""
    ids = np.zeros(count, np.int64)
    values = np.full(count, -np.inf, row.dtype)
    for first in range(0, len(row), _BLOCK):
        block = row[first : first + _BLOCK]
        if _count_above(block, values[count - 1]) > 0:
            for i in range(len(block)):
                if block[i] > values[count - 1]:
                    _insert(ids, values, first + i, block[i])
    return ids, values


@part
def _insert(ids, values, token, value):
    slot = len(ids) - 1
    while slot > 0 and values[slot - 1] < value:
        values[slot], ids[slot] = values[slot - 1], ids[slot - 1]
        slot -= 1
    values[slot], ids[slot] = value, token


@kernel
def unwarped_tops(draft, places, target, count, laws):
    """Return ids and values [3, count] of the largest of draft, target and residual.

    Args:
        draft: [n] scores.
        places: [n] ids that they stand for, or empty where score i is that of id i.
        target: [V] scores.
        count: how many of each.
        laws: [3, V], overwritten with the three distributions.
    """
    ids, values = np.zeros((3, count), np.int64), np.zeros((3, count), np.float32)
    narrow = np.empty(len(draft), np.float32)
    softmax(draft, 1.0, narrow)
    laws[0, :] = _ZERO
    if len(places) > 0:
        scatter(narrow, places, laws[0])
    else:
        laws[0, : len(narrow)] = narrow
    softmax(target, 1.0, laws[1])
    residual(laws[0], laws[1], laws[2])
    for n in range(3):
        ids[n], values[n] = largest(laws[n], count)
    return ids, values


@kernel
def scatter(values, places, out):
    """Set ``out[places[i]]`` to ``values[i]``."""
    for i in range(len(values)):
        out[places[i]] = values[i]


@kernel
def keep_best(rows: np.ndarray, last: np.ndarray, count: int) -> None:
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


@kernel
def keep_nucleus(rows: np.ndarray, mass: float) -> None:
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
