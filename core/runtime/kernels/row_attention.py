"""Attention for any transformers model: row by row over that row's own keys."""

from __future__ import annotations

import numpy as np
from numba import njit

from core.runtime.kernels import part
from core.runtime.kernels.crew import await_all, claim, finish
from core.runtime.kernels.elementwise import exp
from core.runtime.kernels.products import add_dot
from core.runtime.kernels.vector import add_scaled

_MASKED = np.float32(-1e30)  # masks hold the lowest float or minus infinity
_ZERO = np.float32(0.0)


@part
def _score(query, key, seen, scale, softcap, scores):
    """Set the scores of the keys that are seen; return the highest."""
    peak = np.float32(-np.inf)
    for k in range(len(scores)):
        if seen[k] > _MASKED:
            place = scores.ctypes.data + k * 4
            k_place = key.ctypes.data + k * key.strides[0]
            add_dot(query.ctypes.data, k_place, len(query), place)
            score = scores[k] * scale
            if softcap > _ZERO:
                score = softcap * np.tanh(score / softcap)
            scores[k] = score + seen[k]
            peak = max(peak, scores[k])
    return peak


@part
def _weigh(value, seen, scores, peak, total, out):
    """Set ``out`` to the values of the keys that are seen, weighed by their scores."""
    for i in range(len(out)):
        out[i] = _ZERO
    for k in range(len(scores)):
        if seen[k] > _MASKED:
            share = exp(scores[k] - peak)
            total += share
            place = value.ctypes.data + k * value.strides[0]
            add_scaled(share, place, len(out), out.ctypes.data)
    for i in range(len(out)):
        out[i] /= total


# Keys and values are views into a cache, contiguous or not: one compiled form for both.
_SIGNATURE = (
    "void(i8[:,:,::1], i8, f4[:,:,::1], f4[:,:,:], f4[:,:,:], f4[:,:,::1], f4, f4, "
    "f4[::1], f4[:,:,::1])"
)


@njit(_SIGNATURE, nogil=True, cache=True, error_model="numpy")
def attend_rows(board, who, query, key, value, mask, scale, softcap, sinks, out):
    """Attend in all threads of a crew; one region, a head of a row a chunk.

    Args:
        board: the crew's counters.
        who: the thread.
        query: [heads, rows, width].
        key: [kv_heads, keys, width], each row contiguous.
        value: [kv_heads, keys, value_width], each row contiguous.
        mask: [1 or heads, rows, keys] added to the scores.
        scale: of the scores.
        softcap: bends the scores towards this limit; 0 for none.
        sinks: [heads] scores of a key without a value; or 0 long.
        out: [rows, heads, value_width] to write.
    """
    heads, rows = query.shape[0], query.shape[1]
    task = claim(board, 0)
    while task < heads * rows:
        head, row = task // rows, task % rows
        kv = head // (heads // key.shape[0])
        seen = mask[head % mask.shape[0], row]
        scores = np.zeros(key.shape[1], dtype=np.float32)
        peak = _score(query[head, row], key[kv], seen, scale, softcap, scores)
        total = _ZERO
        if len(sinks) > 0:
            peak = max(peak, sinks[head])
            total = exp(sinks[head] - peak)
        _weigh(value[kv], seen, scores, peak, total, out[row, head])
        finish(board, 0)
        task = claim(board, 0)
    await_all(board, 0, heads * rows)
