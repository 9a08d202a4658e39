"""Few rows times a weight matrix, each weight read from memory once."""

from __future__ import annotations

from llvmlite import binding

from core.runtime.kernels import kernel, part
from core.runtime.kernels.crew import await_all, claim, finish
from core.runtime.kernels.vector import dot_tile

CHUNK_BYTES = 1 << 17  # of weights that a thread claims at once


def _wide() -> bool:
    """Return whether 32 vector registers of 16 lanes are there."""
    return bool(binding.get_host_cpu_features().get("avx512f", False))


OUTS = 4 if _wide() else 2
_ONE = dot_tile(1, 1)
_BY_1, _BY_2, _BY_3, _BY_4, _BY_5 = (dot_tile(OUTS, rows) for rows in range(1, 6))


@part
def multiply(w, x, x_stride, size, y, y_stride, outs, rows):
    """Add x w^T to y: ``rows`` rows of ``size`` elements times ``outs`` weight rows.

    The first rows of a tile bring its weights from memory, the others find them near.
    """
    out = 0
    while out + OUTS <= outs:
        _tile(w + out * size * 4, x, x_stride, size, y + out * 4, y_stride, rows)
        out += OUTS
    while out < outs:
        for r in range(rows):
            row, place = x + r * x_stride * 4, y + (r * y_stride + out) * 4
            _ONE(w + out * size * 4, size, row, x_stride, size, place, y_stride)
        out += 1


@part
def _tile(w, x, x_stride, size, y, y_stride, rows):
    groups = (rows + 4) // 5
    while groups > 0:
        group = (rows + groups - 1) // groups
        if group == 1:
            _BY_1(w, size, x, x_stride, size, y, y_stride)
        elif group == 2:
            _BY_2(w, size, x, x_stride, size, y, y_stride)
        elif group == 3:
            _BY_3(w, size, x, x_stride, size, y, y_stride)
        elif group == 4:
            _BY_4(w, size, x, x_stride, size, y, y_stride)
        else:
            _BY_5(w, size, x, x_stride, size, y, y_stride)
        rows -= group
        groups -= 1
        x += group * x_stride * 4
        y += group * y_stride * 4


@part
def add_dot(a, b, size, total):
    """Add the dot product of ``size`` elements at a and b to the float32 at total."""
    _ONE(a, size, b, size, size, total, 1)


@part
def chunk_rows(size):
    """Return how many weight rows of ``size`` elements make a chunk."""
    return max(OUTS, CHUNK_BYTES // (size * 4) // OUTS * OUTS)


@kernel
def linear(board, who, w, x, y):
    """Set y to x w^T in all threads of a crew; one region.

    Args:
        board: the crew's counters.
        who: the thread.
        w: [outs, size] weights.
        x: [rows, size] activations.
        y: [rows, outs] to write; holds the bias or zeros before.
    """
    outs, size = w.shape
    each = chunk_rows(size)
    chunks = (outs + each - 1) // each
    chunk = claim(board, 0)
    while chunk < chunks:
        first = chunk * each
        weights, place = w.ctypes.data + first * size * 4, y.ctypes.data + first * 4
        part = min(each, outs - first)
        multiply(weights, x.ctypes.data, size, size, place, outs, part, len(x))
        finish(board, 0)
        chunk = claim(board, 0)
    await_all(board, 0, chunks)
