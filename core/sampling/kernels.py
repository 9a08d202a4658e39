"""One-pass CPU kernels for rows of a vocabulary; torch does the same where they cannot.

A draw in torch makes a dozen passes over the row, a distribution five. Here it is one
or two, and they are made of vectors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

rows: Any
draws: Any
try:
    from core.sampling import draw_kernels as draws
    from core.sampling import row_kernels as rows
except ImportError:  # Numba is not made for every system
    rows = draws = None

AVAILABLE = rows is not None

TOP = 8  # candidates shown of each distribution


def serve(*given: Tensor) -> bool:
    """Return whether the kernels of ``rows`` take these: float32 on the CPU."""
    for tensor in given:
        if tensor.dtype != torch.float32 or tensor.device.type != "cpu":
            return False
    return AVAILABLE


def prepare() -> None:
    """Compile the kernels or load them from disk, so that no run has to wait."""
    if not AVAILABLE:
        return
    row, out = np.full(2, 0.5, np.float32), np.empty(2, np.float32)
    rows.has_peak(row)
    rows.softmax(row, 1.0, out)
    rows.best_two(row)
    rows.most_probable(row, TOP)
    rows.residual(row, row, out)
    rows.largest(row, TOP)
    rows.scatter(row, np.arange(2), out)
    rows.keep_best(row[None].copy(), row[:1].copy(), 1)
    rows.keep_nucleus(row[None].copy(), 0.5)
    rows.unwarped_tops(row, np.arange(2), row, TOP, np.zeros(2, np.bool_), out)
    draws.race(row, 1)
    draws.compare(row, row, 1)
