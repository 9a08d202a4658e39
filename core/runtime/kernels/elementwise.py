"""Norms, rotary embedding and activations, one row at a time.

Plain loops over float32 without permission to regroup: vectors or not, each element
comes out the same.
"""

from __future__ import annotations

import numpy as np

from core.runtime.kernels import part
from core.runtime.kernels.products import add_dot
from core.runtime.kernels.vector import float_from_bits

_ONE = np.float32(1.0)
_LOG2_E = np.float32(1.4426950408889634)
_LOWEST, _HIGHEST = np.float32(-87.0), np.float32(88.0)
# ln 2 in two parts, the first with so few bits that its multiples are exact.
_LN2_HIGH, _LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
# The Taylor series of e^r, enough for |r| up to ln 2 / 2.
_C2, _C3, _C4 = np.float32(1 / 2), np.float32(1 / 6), np.float32(1 / 24)
_C5, _C6, _C7 = np.float32(1 / 120), np.float32(1 / 720), np.float32(1 / 5040)


@part
def exp(x):
    """Return e^x in float32, in a form that LLVM turns into vectors."""
    x = x if x > _LOWEST else _LOWEST  # min() and max() would look for NaN
    x = x if x < _HIGHEST else _HIGHEST
    power = np.floor(x * _LOG2_E + np.float32(0.5))
    r = x - power * _LN2_HIGH - power * _LN2_LOW
    tail = _C3 + r * (_C4 + r * (_C5 + r * (_C6 + r * _C7)))
    fraction = _ONE + (r + r * r * (_C2 + r * tail))
    return fraction * float_from_bits((np.int32(power) + np.int32(127)) << np.int32(23))


@part
def rms_norm(x, weight, epsilon, out):
    """Set ``out`` to x over its root mean square, times ``weight``; all [size]."""
    size = len(weight)
    out[0] = np.float32(0.0)
    add_dot(x.ctypes.data, x.ctypes.data, size, out.ctypes.data)
    mean = out[0] / np.float32(size)
    scale = _ONE / np.sqrt(mean + epsilon)
    for i in range(size):
        out[i] = weight[i] * (x[i] * scale)


@part
def rotate(x, cos, sin, out):
    """Set ``out`` to x turned by its position; all [width], halves paired."""
    half = len(out) // 2
    for i in range(half):
        low, high = x[i], x[i + half]
        out[i] = low * cos[i] - high * sin[i]
        out[i + half] = high * cos[i + half] + low * sin[i + half]


@part
def swiglu(gate, up, out):
    """Set ``out`` to silu(gate) * up; all [size]."""
    for i in range(len(out)):
        g = gate[i]
        out[i] = g / (_ONE + exp(-g)) * up[i]
