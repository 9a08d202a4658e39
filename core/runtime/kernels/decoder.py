"""A whole step of a Llama-like decoder in one kernel.

Each layer is five regions that a crew shares: queries, keys and values by head;
attention by head and chunk of keys; its output; gate and up; down. What little has to
be done before a region (norms, merging) each thread does for itself, once it has
claimed work there: who comes late must not read what others are changing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from core.runtime.kernels import chapter, kernel, part
from core.runtime.kernels.attention import (
    BLOCK,
    CHUNK,
    attend_chunk,
    chunk_of,
    first_key,
    merge_chunks,
)
from core.runtime.kernels.crew import await_all, claim, finish
from core.runtime.kernels.elementwise import rms_norm, rotate, swiglu
from core.runtime.kernels.products import chunk_rows, multiply

REGIONS = 5  # of a layer
QUERY, KEY, VALUE, OUTPUT, GATE, UP, DOWN = range(7)  # columns of Weights.matrices
_ZERO = np.float32(0.0)


class Weights(NamedTuple):
    """What a decoder is made of.

    Attributes:
        matrices: [layers, 7] addresses of the layers' float32 matrices [outs, size].
        head: address of the output matrix [vocabulary, hidden].
        norms: [layers, 2, hidden] before attention and before the gates.
        last_norm: [hidden] before the head.
        biases: [layers, (heads + 2 * kv_heads) * width] of query, key, value; or empty.
        head_norms: [layers, 2, width] of queries and keys; or empty.
        windows: [layers] tokens that a row sees; 0 for all.
        epsilon: of the norms.
        scale: of the attention's scores.
        inner: width between gate and down.
    """

    matrices: np.ndarray
    head: int
    norms: np.ndarray
    last_norm: np.ndarray
    biases: np.ndarray
    head_norms: np.ndarray
    windows: np.ndarray
    epsilon: np.float32
    scale: np.float32
    inner: int


class State(NamedTuple):
    """One sequence's cache and scratch memory.

    Attributes:
        keys: [layers, kv_heads, blocks, width, 16] cache.
        values: [layers, kv_heads, positions, width] cache.
        cos: [positions, width] of the rotary embedding.
        sin: [positions, width] of the rotary embedding.
        hidden: [rows, hidden] the embeddings, then what each layer makes of them.
        queries: [kv_heads, rows * group, width].
        partial: [kv_heads, chunks, rows * group, width] of attention.
        peaks: [kv_heads, chunks, rows * group] of attention.
        sums: [kv_heads, chunks, rows * group] of attention.
        inner: [rows, inner] after the gates.
        inputs: [threads, rows, size] normed or merged, each thread's own.
        parts: [threads, 2, rows, size] of products, each thread's own.
        scores: [threads, rows * group, CHUNK] of attention, each thread's own.
        logits: [rows, vocabulary] the result.
    """

    keys: np.ndarray
    values: np.ndarray
    cos: np.ndarray
    sin: np.ndarray
    hidden: np.ndarray
    queries: np.ndarray
    partial: np.ndarray
    peaks: np.ndarray
    sums: np.ndarray
    inner: np.ndarray
    inputs: np.ndarray
    parts: np.ndarray
    scores: np.ndarray
    logits: np.ndarray


@kernel
def decode(board, who, weights, state, start, rows, wanted):
    """Step ``rows`` tokens through all layers, in all threads of a crew.

    Args:
        board: the crew's counters, ``REGIONS`` for each layer and one more.
        who: the thread.
        weights: of the model.
        state: of the sequence; ``state.hidden`` holds the rows' embeddings.
        start: position of the first row.
        rows: how many tokens.
        wanted: rows of logits to write, all or none.
    """
    region = 0
    for layer in range(len(weights.matrices)):
        _project_heads(board, who, region, weights, state, layer, start, rows)
        window = weights.windows[layer]
        scale = weights.scale
        _attend(board, who, region + 1, state, layer, start, rows, window, scale)
        _merge_heads(board, who, region + 2, weights, state, layer, start, rows)
        _open_gates(board, who, region + 3, weights, state, layer, rows)
        _close_gates(board, who, region + 4, weights, state, layer, rows)
        region += REGIONS
    if wanted > 0:
        _read_out(board, who, region, weights, state, rows)


@chapter
def _norm_rows(state, who, weight, epsilon, rows):
    for r in range(rows):
        out = state.inputs[who, r, : len(weight)]
        rms_norm(state.hidden[r], weight, epsilon, out)


@chapter
def _project_heads(board, who, region, weights, state, layer, start, rows):
    """Make queries, keys and values, one head a chunk; the latter go to the cache."""
    kv_heads, group = (
        state.queries.shape[0],
        state.queries.shape[1] // len(state.hidden),
    )
    chunks = kv_heads * (group + 2)
    ready = False
    chunk = claim(board, region)
    while chunk < chunks:
        if not ready:
            norm = weights.norms[layer, 0]
            _norm_rows(state, who, norm, weights.epsilon, rows)
            ready = True
        _project_head(who, weights, state, layer, chunk, group, start, rows)
        finish(board, region)
        chunk = claim(board, region)
    await_all(board, region, chunks)


@chapter
def _project_head(who, weights, state, layer, index, group, start, rows):
    kv_heads, width = state.queries.shape[0], state.queries.shape[2]
    size = state.hidden.shape[1]
    kind, head = QUERY, index
    if index >= kv_heads * group:
        kind = KEY + (index - kv_heads * group) // kv_heads
        head = (index - kv_heads * group) % kv_heads
    part = state.parts[who, 0]  # [rows, >= width]
    for r in range(rows):
        for i in range(width):
            biased = weights.biases.shape[1] > 0
            part[r, i] = weights.biases[layer, index * width + i] if biased else _ZERO
    x, y = state.inputs[who], part
    w = weights.matrices[layer, kind] + head * width * size * 4
    x_stride, y_stride = x.shape[1], y.shape[1]
    multiply(w, x.ctypes.data, x_stride, size, y.ctypes.data, y_stride, width, rows)
    spare = state.parts[who, 1]
    for r in range(rows):
        _place_head(weights, state, layer, kind, head, start, r, part[r], spare[r])


@chapter
def _place_head(weights, state, layer, kind, head, start, row, part, spare):
    """Norm and turn one row of one head, and put it where attention looks for it."""
    width = state.queries.shape[2]
    position = start + row
    if kind == VALUE:
        for i in range(width):
            state.values[layer, head, position, i] = part[i]
        return
    made, turned = part[:width], spare[:width]
    if weights.head_norms.shape[1] > 0:
        rms_norm(made, weights.head_norms[layer, kind], weights.epsilon, turned)
        made, turned = turned, made
    rotate(made, state.cos[position], state.sin[position], turned)
    if kind == QUERY:
        group = state.queries.shape[1] // len(state.hidden)
        place = row * group + head % group
        for i in range(width):
            state.queries[head // group, place, i] = turned[i]
    else:
        block, lane = position // BLOCK, position % BLOCK
        for i in range(width):
            state.keys[layer, head, block, i, lane] = turned[i]


@chapter
def _attend(board, who, region, state, layer, start, rows, window, scale):
    """Attend, one head of keys and one chunk of them at a time."""
    kv_heads, group = (
        state.queries.shape[0],
        state.queries.shape[1] // len(state.hidden),
    )
    first = first_key(start, window) // CHUNK
    each = (start + rows - 1) // CHUNK + 1 - first
    tasks = kv_heads * each
    task = claim(board, region)
    while task < tasks:
        upcoming = task + len(state.inputs)  # if all threads keep step: a mere guess
        next_keys = 0
        if upcoming < tasks:
            heads_keys = state.keys[layer, upcoming // each]
            next_keys = chunk_of(heads_keys, first + upcoming % each)
        head, chunk = task // each, first + task % each
        used = rows * group
        attend_chunk(
            state.queries[head, :used],
            state.keys[layer, head],
            state.values[layer, head],
            chunk,
            start,
            rows,
            window,
            scale,
            state.scores[who, :used],
            state.partial[head, chunk, :used],
            state.peaks[head, chunk],
            state.sums[head, chunk],
            next_keys,
        )
        finish(board, region)
        task = claim(board, region)
    await_all(board, region, tasks)


@chapter
def _merge_rows(who, state, start, rows, window):
    """Merge the chunks of all rows and heads into this thread's inputs."""
    kv_heads, width = state.queries.shape[0], state.queries.shape[2]
    group = state.queries.shape[1] // len(state.hidden)
    for r in range(rows):
        first = first_key(start + r, window) // CHUNK
        last = (start + r) // CHUNK
        for head in range(kv_heads * group):
            kv, row = head // group, r * group + head % group
            out = state.inputs[who, r, head * width : (head + 1) * width]
            partial, peaks, sums = state.partial[kv], state.peaks[kv], state.sums[kv]
            merge_chunks(partial, peaks, sums, row, first, last, out)


@chapter
def _merge_heads(board, who, region, weights, state, layer, start, rows):
    """Add attention's output to the hidden rows."""
    size = state.queries.shape[1] // len(state.hidden)
    size *= state.queries.shape[0] * state.queries.shape[2]
    outs, each = state.hidden.shape[1], chunk_rows(size)
    chunks = (outs + each - 1) // each
    ready = False
    chunk = claim(board, region)
    while chunk < chunks:
        if not ready:
            _merge_rows(who, state, start, rows, weights.windows[layer])
            ready = True
        x = state.inputs[who]
        w = weights.matrices[layer, OUTPUT]
        _add_part(
            w, x, size, state.hidden, chunk * each, min(each, outs - chunk * each), rows
        )
        finish(board, region)
        chunk = claim(board, region)
    await_all(board, region, chunks)


@part
def _add_part(w, x, size, y, first, count, rows):
    """Add ``count`` outputs from ``first`` of x w^T to y; x, y are [rows, stride]."""
    place = y.ctypes.data + first * 4
    weights = w + first * size * 4
    x_stride, y_stride = x.shape[1], y.shape[1]
    multiply(weights, x.ctypes.data, x_stride, size, place, y_stride, count, rows)


@part
def _clear(y, first, count, rows):
    for r in range(rows):
        row = y[r, first : first + count]
        for i in range(count):
            row[i] = _ZERO


@chapter
def _open_gates(board, who, region, weights, state, layer, rows):
    """Set ``state.inner`` to silu(gate) * up of the normed hidden rows."""
    size, outs = state.hidden.shape[1], weights.inner
    each = chunk_rows(size)
    chunks = (outs + each - 1) // each
    ready = False
    chunk = claim(board, region)
    while chunk < chunks:
        if not ready:
            norm = weights.norms[layer, 1]
            _norm_rows(state, who, norm, weights.epsilon, rows)
            ready = True
        first = chunk * each
        _gate_part(who, weights, state, layer, first, min(each, outs - first), rows)
        finish(board, region)
        chunk = claim(board, region)
    await_all(board, region, chunks)


@chapter
def _gate_part(who, weights, state, layer, first, count, rows):
    x, size = state.inputs[who], state.hidden.shape[1]
    gate, up = state.parts[who, 0], state.parts[who, 1]  # [rows, >= count]
    _clear(gate, 0, count, rows)
    _clear(up, 0, count, rows)
    offset = first * size * 4
    _add_part(weights.matrices[layer, GATE] + offset, x, size, gate, 0, count, rows)
    _add_part(weights.matrices[layer, UP] + offset, x, size, up, 0, count, rows)
    for r in range(rows):
        out = state.inner[r, first : first + count]
        swiglu(gate[r, :count], up[r, :count], out)


@chapter
def _close_gates(board, who, region, weights, state, layer, rows):
    """Add the gated rows' output to the hidden rows."""
    size, outs = weights.inner, state.hidden.shape[1]
    each = chunk_rows(size)
    chunks = (outs + each - 1) // each
    chunk = claim(board, region)
    while chunk < chunks:
        first = chunk * each
        w, count = weights.matrices[layer, DOWN], min(each, outs - first)
        _add_part(w, state.inner, size, state.hidden, first, count, rows)
        finish(board, region)
        chunk = claim(board, region)
    await_all(board, region, chunks)


@chapter
def _read_out(board, who, region, weights, state, rows):
    """Write the logits of all rows."""
    size, outs = state.hidden.shape[1], state.logits.shape[1]
    each = chunk_rows(size)
    chunks = (outs + each - 1) // each
    ready = False
    chunk = claim(board, region)
    while chunk < chunks:
        if not ready:
            _norm_rows(state, who, weights.last_norm, weights.epsilon, rows)
            ready = True
        first, x = chunk * each, state.inputs[who]
        count = min(each, outs - first)
        _clear(state.logits, first, count, rows)
        _add_part(weights.head, x, size, state.logits, first, count, rows)
        finish(board, region)
        chunk = claim(board, region)
    await_all(board, region, chunks)
