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
_ZERO, _ONE = np.float32(0.0), np.float32(1.0)
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
def best_two(row):
    """Return the arg-max of ``row`` [V], ties to the lowest, and the two largest.

    The last number is False where an element is NaN or the largest is not finite.
    """
    ids, values = largest(row, 2)
    wrong = 0
    for i in range(len(row)):
        wrong += row[i] != row[i]
    right = wrong == 0 and np.isfinite(values[0])
    return ids[0], np.float64(values[0]), np.float64(values[1]), right


@part
def _scale(scores):
    """Return the largest of ``scores`` and what makes their powers a distribution."""
    powers, peak, total = np.empty(_BLOCK, np.float32), _peak(scores), 0.0
    for first in range(0, len(scores), _BLOCK):
        block = scores[first : first + _BLOCK]
        _exponentials(block, peak, _ONE, powers[: len(block)])
        total += _sum(powers[: len(block)])
    return peak, np.float32(1.0 / total)


@part
def _scale_and_rest(scores, outside):
    """Return what :func:`_scale` does and the probability of those ``outside``.

    The rest is added up itself: 1 minus the others would be rounding where it is small.
    """
    powers, peak = np.empty(_BLOCK, np.float32), _peak(scores)
    total, rest = 0.0, 0.0
    for first in range(0, len(scores), _BLOCK):
        block, open_ = scores[first : first + _BLOCK], outside[first : first + _BLOCK]
        some = powers[: len(block)]
        _exponentials(block, peak, _ONE, some)
        total += _sum(some)
        for i in range(len(some)):
            some[i] = some[i] if open_[i] else _ZERO
        rest += _sum(some)
    return peak, np.float32(1.0 / total), rest / total


@part
def _probability(score, peak, share):
    x = score - peak
    return exp(x) * share if x > _LOWEST else _ZERO


@part
def _soften(values, peak, share):
    for i in range(len(values)):
        values[i] = _probability(values[i], peak, share)


@kernel
def most_probable(scores, count):
    """Return ids and probabilities of the ``count`` best of ``scores`` [V]."""
    ids, values = largest(scores, count)
    peak, share = _scale(scores)
    _soften(values, peak, share)
    return ids, values


@part
def _gather(row, places, out):
    for i in range(len(out)):
        out[i] = row[np.uint64(places[i])]  # no sign, so no wrapping round to look for


@part
def _keep_excess(draft, share, target, target_share, out):
    for i in range(len(out)):
        more = target[i] * target_share - draft[i] * share
        out[i] = more if more > _ZERO else _ZERO


@part
def _excesses(draft, places, target, law, out):
    """Set ``out`` [n] to (target - draft)+ and return its sum."""
    peak, share, target_peak, target_share = law
    three, excess = np.empty((3, _BLOCK), np.float32), 0.0
    for first in range(0, len(draft), _BLOCK):
        block = out[first : first + _BLOCK]
        n = len(block)
        mine, theirs, scores = three[0, :n], three[1, :n], three[2, :n]
        _gather(target, places[first : first + _BLOCK], scores)
        _exponentials(scores, target_peak, _ONE, theirs)
        _exponentials(draft[first : first + _BLOCK], peak, _ONE, mine)
        _keep_excess(mine, share, theirs, target_share, block)
        excess += _sum(block)
    return excess


@part
def _count_outside(block, outside, number):
    found = 0
    for i in range(len(block)):
        found += outside[i] & (block[i] > number)
    return found


@part
def _largest_outside(row, outside, count):
    """Return what :func:`largest` does, of those elements that are ``outside``."""
    ids, values = np.zeros(count, np.int64), np.full(count, -np.inf, row.dtype)
    for first in range(0, len(row), _BLOCK):
        block, open_ = row[first : first + _BLOCK], outside[first : first + _BLOCK]
        if _count_outside(block, open_, values[count - 1]) > 0:
            for i in range(len(block)):
                if open_[i] and block[i] > values[count - 1]:
                    _insert(ids, values, first + i, block[i])
    return ids, values


@kernel
def unwarped_tops(draft, places, target, count, outside, excess):
    """Return ids and values [3, count] of the largest of draft, target and residual.

    Nothing of the vocabulary's width is written: what the draft has no score for keeps
    the target's probability in the residual, so that its best are the target's best.

    Args:
        draft: [n] scores.
        places: [n] rising ids that they stand for.
        target: [V] scores.
        count: how many of each.
        outside: [V] True for the ids that are not among ``places``.
        excess: [n], overwritten with the residual's weights.
    """
    ids, values = np.zeros((3, count), np.int64), np.zeros((3, count), np.float32)
    peak, share = _scale(draft)
    target_peak, target_share, rest_mass = _scale_and_rest(target, outside)
    few = min(count, len(draft))
    best, values[0, :few] = largest(draft, few)
    ids[0, :few] = places[best]
    _soften(values[0, :few], peak, share)
    ids[1], values[1] = largest(target, count)
    _soften(values[1], target_peak, target_share)
    law = peak, share, target_peak, target_share
    mass = _excesses(draft, places, target, law, excess)
    best, values[2, :few] = largest(excess, few)
    ids[2, :few] = places[best]
    if len(draft) < len(target):
        mass += rest_mass
        others, rest = _largest_outside(target, outside, count)
        _soften(rest, target_peak, target_share)
        for n in range(count):
            if rest[n] > values[2, count - 1]:
                _insert(ids[2], values[2], others[n], rest[n])
    if mass == 0.0:
        ids[2], values[2] = ids[1], values[1]
    else:
        values[2] /= np.float32(mass)
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
