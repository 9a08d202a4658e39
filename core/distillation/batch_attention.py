"""One new token of each of many sequences attends to that sequence's own keys."""

from __future__ import annotations

import numpy as np
from numba import njit

from core.runtime.kernels.elementwise import exp

_ZERO = np.float32(0.0)


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def _soften(scores):
    """Turn scores into probabilities in place."""
    peak = np.float32(-np.inf)
    for k in range(len(scores)):
        peak = max(peak, scores[k])
    total = _ZERO
    for k in range(len(scores)):
        scores[k] = exp(scores[k] - peak)
        total += scores[k]
    for k in range(len(scores)):
        scores[k] /= total


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def _attend(query, keys, values, scale, scores, out):
    """Attend with one head to ``len(scores)`` keys."""
    length, width = len(scores), len(query)
    for k in range(length):
        total = _ZERO
        for i in range(width):
            total += query[i] * keys[k, i]
        scores[k] = total * scale
    _soften(scores)
    out[:] = _ZERO
    for k in range(length):
        share = scores[k]
        for i in range(width):
            out[i] += share * values[k, i]


@njit(
    "void(f4[:,:,::1], f4[:,:,:,::1], f4[:,:,:,::1], i8, f4, f4[:,:,::1])",
    nogil=True,
    cache=True,
    fastmath=True,
    error_model="numpy",
)
def attend_batch(query, keys, values, length, scale, out):
    """Attend with one token of each sequence.

    Args:
        query: [rows, heads, width].
        keys: [rows, key heads, capacity, width].
        values: [rows, key heads, capacity, width].
        length: keys that count.
        scale: of the scores.
        out: [rows, heads, width] to write.
    """
    rows, heads, _ = query.shape
    group = heads // keys.shape[1]
    scores = np.empty(length, dtype=np.float32)
    for row in range(rows):
        for head in range(heads):
            shared = head // group
            k, v = keys[row, shared], values[row, shared]
            _attend(query[row, head], k, v, scale, scores, out[row, head])
