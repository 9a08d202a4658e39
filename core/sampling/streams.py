"""Keyed random streams: every random number is a pure function of its place.

A number is a counter-based hash of seed, purpose, position and, where one per token is
needed, token id. Nothing is consumed, so neither the lookahead, the width of a
vocabulary row, a pause nor the other lane can shift a later draw. The hash is the
finaliser of SplitMix64 (Steele, Lea and Flood 2014, doi:10.1145/2660193.2660195).
"""

from __future__ import annotations

from enum import IntEnum

import torch
from torch import Tensor

_GOLDEN = 0x9E3779B97F4A7C15
_MIX_1 = 0xBF58476D1CE4E5B9
_MIX_2 = 0x94D049BB133111EB
_MASK = (1 << 64) - 1
_TO_UNIT = 2.0**-53


class Purpose(IntEnum):
    """What a number is for; each purpose is a stream of its own."""

    DRAFT = 1
    ACCEPT = 2
    RESIDUAL = 3
    TARGET = 4


def stream_key(seed: int, purpose: Purpose, position: int) -> int:
    """Return the 64-bit key of one position of one stream, 0 to 2**64 - 1."""
    key = _mix_int(seed * _GOLDEN + _MIX_1)
    key = _mix_int(key + int(purpose) * _MIX_2)
    return _mix_int(key + position * _GOLDEN)


def stream_keys(seed: Tensor, purpose: Purpose, position: Tensor | int) -> Tensor:
    """Return the keys of many seeds and positions.

    Args:
        seed: [...] int64.
        purpose: the stream.
        position: [...] int64 broadcastable to ``seed``, or one number.

    Returns:
        [...] int64, the same bits as :func:`stream_key`.
    """
    key = _mix(seed * _signed(_GOLDEN) + _signed(_MIX_1))
    key = _mix(key + _signed(int(purpose) * _MIX_2))
    step = position * _signed(_GOLDEN)
    # A tensor wraps round at 64 bits by itself; a Python number must be made to.
    return _mix(key + (_signed(step) if isinstance(step, int) else step))


def uniform(key: int) -> float:
    """Return the number in [0, 1) that belongs to ``key`` (53 bits)."""
    return (_mix_int(key) >> 11) * _TO_UNIT


def uniforms(keys: Tensor) -> Tensor:
    """Return the numbers in [0, 1) of ``keys``: [...] int64 to [...] float64."""
    return _top_bits(_mix(keys)).double() * _TO_UNIT


def token_exponentials(keys: Tensor, vocabulary: int) -> Tensor:
    """Return one standard exponential variate for each token id.

    Args:
        keys: [...] int64 stream keys.
        vocabulary: V, the number of ids; a wider row keeps the values of a narrower.

    Returns:
        [..., V] float64, 0 or above.
    """
    counters = torch.arange(1, vocabulary + 1, device=keys.device)  # [V]
    state = keys.unsqueeze(-1) + counters * _signed(_GOLDEN)  # [..., V]
    return -((_top_bits(_mix(state)) + 1).double() * _TO_UNIT).log()


def signed_key(key: int) -> int:
    """Return the int64 with the bits of ``key``, as tensors and kernels take it."""
    return _signed(key)


def _mix_int(x: int) -> int:
    x &= _MASK
    x = ((x ^ (x >> 30)) * _MIX_1) & _MASK
    x = ((x ^ (x >> 27)) * _MIX_2) & _MASK
    return x ^ (x >> 31)


def _mix(x: Tensor) -> Tensor:
    x = (x ^ _shift(x, 30)) * _signed(_MIX_1)
    x = (x ^ _shift(x, 27)) * _signed(_MIX_2)
    return x ^ _shift(x, 31)


def _shift(x: Tensor, bits: int) -> Tensor:
    # torch shifts int64 arithmetically; the mask makes it a logical shift.
    return (x >> bits) & ((1 << (64 - bits)) - 1)


def _top_bits(x: Tensor) -> Tensor:
    return _shift(x, 11)


def _signed(value: int) -> int:
    value &= _MASK
    return value - (1 << 64) if value >> 63 else value
