"""Attention of few rows over the cache.

Keys are read in chunks that begin at fixed positions, never at the row's own; each
chunk gives a partial result, and a row's partial results are merged in order. So a
row's sums are the same whatever rows stand beside it, and threads can share one row's
keys.

Keys lie in blocks of sixteen positions, [kv_heads, blocks, width, 16], so that one
vector holds one element of sixteen keys. Values lie as [kv_heads, positions, width].
"""

from __future__ import annotations

import numpy as np

from core.runtime.kernels import part
from core.runtime.kernels.elementwise import exp
from core.runtime.kernels.products import add_dot
from core.runtime.kernels.vector import LANES, combine_tile, largest

BLOCK = LANES  # keys in a block
CHUNK = 256  # keys in a chunk; part of every result, so never changed
_ONES = np.ones(CHUNK, dtype=np.float32)
_ZERO = np.float32(0.0)
_WIDE = 4  # vectors that a tile makes of each row: its sums keep the adders busy
_4_ROWS, _3_ROWS, _2_ROWS, _1_ROW = (combine_tile(n, _WIDE) for n in (4, 3, 2, 1))
_4_ROWS_1, _1_ROW_1 = combine_tile(4, 1), combine_tile(1, 1)


@part
def _combine(
    x, x_stride, m, m_stride, m_column, columns, size, y, y_stride, rows, fetch, end
):
    """Set ``columns`` vectors of each row of y; see :func:`combine_tile`.

    Meanwhile the memory from ``fetch`` to ``end`` is fetched, as far as the time goes:
    a burst at its first use would leave the memory idle for the rest of the work.
    """
    column = 0
    while column + _WIDE <= columns:
        place, vectors = y + column * LANES * 4, m + column * m_column * 4
        fetch = _wide(
            x, x_stride, vectors, m_stride, m_column, size, place, y_stride, rows,
            fetch, end,
        )  # fmt: skip
        column += _WIDE
    while column < columns:
        place, vectors = y + column * LANES * 4, m + column * m_column * 4
        _narrow(x, x_stride, vectors, m_stride, size, place, y_stride, rows)
        column += 1


@part
def _wide(x, x_stride, m, m_stride, m_column, size, y, y_stride, rows, fetch, end):
    """Set four vectors of each row; return where fetching goes on."""
    while rows > 0:
        ahead = fetch if fetch < end else m  # what is here already costs nothing
        if rows >= 4:
            _4_ROWS(x, x_stride, m, m_stride, m_column, size, y, y_stride, ahead)
        elif rows == 3:
            _3_ROWS(x, x_stride, m, m_stride, m_column, size, y, y_stride, ahead)
        elif rows == 2:
            _2_ROWS(x, x_stride, m, m_stride, m_column, size, y, y_stride, ahead)
        else:
            _1_ROW(x, x_stride, m, m_stride, m_column, size, y, y_stride, ahead)
        fetch += size * LANES * 4
        rows -= 4
        x += 4 * x_stride * 4
        y += 4 * y_stride * 4
    return fetch


@part
def _narrow(x, x_stride, m, m_stride, size, y, y_stride, rows):
    while rows >= 4:
        _4_ROWS_1(x, x_stride, m, m_stride, 0, size, y, y_stride, m)
        rows -= 4
        x += 4 * x_stride * 4
        y += 4 * y_stride * 4
    while rows > 0:
        _1_ROW_1(x, x_stride, m, m_stride, 0, size, y, y_stride, m)
        rows -= 1
        x += x_stride * 4
        y += y_stride * 4


@part
def first_key(position, window):
    """Return the first key that the token at ``position`` sees; window 0 sees all."""
    return max(0, position - window + 1) if window > 0 else 0


@part
def _score(queries, keys, values, chunk, count, scores):
    """Set ``scores`` [rows, CHUNK] to the products with ``count`` keys of the chunk.

    Meanwhile the chunk's values are fetched.
    """
    rows, width = queries.shape
    blocks = (count + BLOCK - 1) // BLOCK
    x, y = queries.ctypes.data, scores.ctypes.data
    key, value = chunk_of(keys, chunk), chunk_of(values, chunk)
    end = value + count * width * 4
    _combine(
        x, width, key, BLOCK, width * BLOCK, blocks, width, y, CHUNK, rows, value, end
    )


@part
def chunk_of(cache, chunk):
    """Return a chunk's address in keys [blocks, width, 16] or values [_, width]."""
    return cache.ctypes.data + chunk * CHUNK * cache.shape[1] * 4


@part
def _soften(scores, low, high, scale):
    """Turn scores into exponentials where seen, zeros elsewhere; return their peak."""
    peak = largest(scores[low], scores.ctypes.data + low * 4, high - low)
    _clear(scores[:low])
    _exponentials(scores[low:high], peak, scale)
    _clear(scores[high:CHUNK])
    return peak * scale


# A loop from 0 to the end of a slice becomes vectors; one between two numbers does not,
# since for all that LLVM knows the first of them may count from the end.
@part
def _exponentials(scores, peak, scale):
    for k in range(len(scores)):
        scores[k] = exp((scores[k] - peak) * scale)


@part
def _clear(scores):
    for k in range(len(scores)):
        scores[k] = _ZERO


@part
def attend_chunk(
    queries, keys, values, chunk, start, rows, window, scale, scores, out, peaks, sums,
    next_keys,
):  # fmt: skip
    """Attend to one chunk of one head's keys.

    Args:
        queries: [rows * group, width] of the heads that share these keys; those of one
            row lie together.
        keys: [blocks, width, 16].
        values: [positions, width]; finite everywhere, also where nothing was written.
        chunk: which keys: those from ``chunk * CHUNK``.
        start: position of the first row.
        rows: how many follow one another from there.
        window: tokens that a row sees, itself included; 0 for all.
        scale: of the scores, positive.
        scores: [rows * group, CHUNK] scratch.
        out: [rows * group, width] partial results, not yet divided by their sums.
        peaks: [rows * group] the highest score of each.
        sums: [rows * group] of the exponentials.
        next_keys: address of the chunk of keys to fetch meanwhile; 0 for none.
    """
    begin = chunk * CHUNK
    count = min(CHUNK, start + rows - begin)
    if begin + count <= first_key(start, window):
        return  # behind the window of every row
    _score(queries, keys, values, chunk, count, scores)
    group = len(queries) // rows
    for i in range(len(queries)):
        position = start + i // group
        low = max(first_key(position, window) - begin, 0)
        high = min(position + 1 - begin, count)
        if low >= high:
            _clear(scores[i])  # this row sees none of them, and will not merge them
            continue
        peaks[i] = _soften(scores[i], low, high, scale)
        sums[i] = _ZERO
        place = sums.ctypes.data + i * 4
        add_dot(scores.ctypes.data + i * CHUNK * 4, _ONES.ctypes.data, CHUNK, place)
    _weigh(scores, values, chunk, count, out, next_keys)


@part
def _weigh(scores, values, chunk, count, out, next_keys):
    """Set ``out`` [rows, width] to the values weighed by ``scores``."""
    rows, width = out.shape
    value, end = chunk_of(values, chunk), next_keys
    if next_keys != 0:
        end += CHUNK * width * 4
    x, y = scores.ctypes.data, out.ctypes.data
    columns = width // LANES
    _combine(
        x, CHUNK, value, width, LANES, columns, count, y, width, rows, next_keys, end
    )


@part
def merge_chunks(partial, peaks, sums, row, first, last, out):
    """Merge one row's partial results of the chunks ``first`` to ``last``.

    Args:
        partial: [chunks, rows * group, width] sums of weighed values.
        peaks: [chunks, rows * group] highest scores.
        sums: [chunks, rows * group] of exponentials.
        row: which of rows * group.
        first: the first chunk that the row sees.
        last: the last one.
        out: [width] to write.
    """
    peak = peaks[first, row]
    for chunk in range(first, last + 1):
        peak = max(peak, peaks[chunk, row])
    total = _ZERO
    for i in range(len(out)):
        out[i] = _ZERO
    for chunk in range(first, last + 1):
        share = exp(peaks[chunk, row] - peak)
        total += share * sums[chunk, row]
        for i in range(len(out)):
            out[i] += share * partial[chunk, row, i]
    for i in range(len(out)):
        out[i] /= total
