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
_NEAR = 32  # of the target's largest, among which the residual's are looked for
_CLEAR = 1e-3  # a residual of less mass is summed itself, not as a difference
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

    The residual's are looked for among the target's largest: nobody else can have more
    than the last of those. Where that does not decide it, all are looked at.

    Args:
        draft: [n] scores.
        places: [n] ids that they stand for, rising, or empty where score i is that of
            id i.
        target: [V] scores.
        count: how many of each.
        laws: [3, V], for when all are looked at.
    """
    ids, values = np.zeros((3, count), np.int64), np.zeros((3, count), np.float32)
    narrow = np.empty(len(draft), np.float32)
    softmax(draft, 1.0, narrow)
    ids[0], values[0] = largest(narrow, count)
    for i in range(count if len(places) > 0 else 0):
        ids[0, i] = places[ids[0, i]]
    peak = _peak(target)
    share = np.float32(1.0 / _mass(target, peak))
    best, near = largest(target, max(count, min(_NEAR, len(target))))
    _exponentials(near, peak, np.float32(1.0), near)
    near *= share
    ids[1], values[1] = best[:count], near[:count]
    left = 1.0 - _overlap(narrow, places, target, peak, share)
    for i in range(len(best)):
        more = near[i] - _chance(narrow, places, best[i])
        if more > values[2, count - 1]:
            _insert(ids[2], values[2], best[i], more)
    all_seen = len(best) >= len(target) or values[2, count - 1] >= near[-1]
    if left > _CLEAR and all_seen:
        values[2] /= np.float32(left)
    else:
        ids[2], values[2] = _whole_residual(narrow, places, target, count, laws)
    return ids, values


@part
def _mass(scores, peak):
    """Return the sum of e to the scores less ``peak``."""
    total, scratch = 0.0, np.empty(_BLOCK, np.float32)
    for first in range(0, len(scores), _BLOCK):
        block = scores[first : first + _BLOCK]
        out = scratch[: len(block)]
        _exponentials(block, peak, np.float32(1.0), out)
        total += _sum(out)
    return total


@part
def _overlap(narrow, places, target, peak, share):
    """Return the sum of min(draft, target) over the ids that the draft has."""
    total, scratch = 0.0, np.empty(_BLOCK, np.float32)
    for first in range(0, len(narrow), _BLOCK):
        chances = narrow[first : first + _BLOCK]
        out = scratch[: len(chances)]
        for i in range(len(out)):
            out[i] = target[places[first + i] if len(places) > 0 else first + i]
        _exponentials(out, peak, np.float32(1.0), out)
        for i in range(len(out)):
            law = out[i] * share
            out[i] = law if law < chances[i] else chances[i]
        total += _sum(out)
    return total


@part
def _chance(narrow, places, token):
    """Return the draft's probability of ``token``."""
    if len(places) == 0:
        return narrow[token] if token < len(narrow) else _ZERO
    at = np.searchsorted(places, token)
    return narrow[at] if at < len(places) and places[at] == token else _ZERO


@part
def _whole_residual(narrow, places, target, count, laws):
    laws[0, :] = _ZERO
    if len(places) > 0:
        scatter(narrow, places, laws[0])
    else:
        laws[0, : len(narrow)] = narrow
    softmax(target, 1.0, laws[1])
    residual(laws[0], laws[1], laws[2])
    return largest(laws[2], count)


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
