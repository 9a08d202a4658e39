"""Norms, rotary embedding and activations, one row at a time.

Plain loops over float32 without permission to regroup: vectors or not, each element
comes out the same.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from core.runtime.kernels.products import add_dot
from core.runtime.kernels.vector import float_from_bits

_LOG2_E = np.float32(1.4426950408889634)
_LOWEST = np.float32(-126.0)
_HIGHEST = np.float32(127.0)
_ONE = np.float32(1.0)
# 2^f on [-1/2, 1/2]: the Taylor series of exp(f ln 2), good to the last bit or two.
_C1 = np.float32(0.6931471805599453)
_C2 = np.float32(0.2402265069591007)
_C3 = np.float32(0.05550410866482158)
_C4 = np.float32(0.009618129107628477)
_C5 = np.float32(0.0013333558146428443)
_C6 = np.float32(0.00015403530393381606)
_C7 = np.float32(1.525273380405984e-05)


@njit(nogil=True, cache=True)
def exp(x):
    """Return e^x in float32, in a form that LLVM turns into vectors."""
    power = min(max(x * _LOG2_E, _LOWEST), _HIGHEST)
    whole = np.floor(power + np.float32(0.5))
    f = power - whole
    tail = _C4 + f * (_C5 + f * (_C6 + f * _C7))
    fraction = _ONE + f * (_C1 + f * (_C2 + f * (_C3 + f * tail)))
    return fraction * float_from_bits((np.int32(whole) + np.int32(127)) << np.int32(23))


@njit(nogil=True, cache=True)
def rms_norm(x, weight, epsilon, out):
    """Set ``out`` to x over its root mean square, times ``weight``; all [size]."""
    size = len(weight)
    out[0] = np.float32(0.0)
    add_dot(x.ctypes.data, x.ctypes.data, size, out.ctypes.data)
    mean = out[0] / np.float32(size)
    scale = _ONE / np.sqrt(mean + epsilon)
    for i in range(size):
        out[i] = weight[i] * (x[i] * scale)


@njit(nogil=True, cache=True)
def rotate(x, cos, sin, out):
    """Set ``out`` to x turned by its position; all [width], halves paired."""
    half = len(out) // 2
    for i in range(half):
        low, high = x[i], x[i + half]
        out[i] = low * cos[i] - high * sin[i]
        out[i + half] = high * cos[i + half] + low * sin[i + half]


@njit(nogil=True, cache=True)
def swiglu(gate, up, out):
    """Set ``out`` to silu(gate) * up; all [size]."""
    for i in range(len(out)):
        g = gate[i]
        out[i] = g / (_ONE + exp(-g)) * up[i]
