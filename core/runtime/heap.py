"""Two habits of Python and of the C library that would slow rounds down."""

from __future__ import annotations

import ctypes
import functools
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # mallopt's names in malloc.h
_SMALL = 4 << 20  # bytes; rows of a vocabulary are small, weights are not
_SPARE = 64 << 20  # bytes of freed memory that the process holds on to


@functools.cache
def keep_small_memory() -> None:
    """Keep memory of freed rows for the next ones, where the C library is glibc.

    It would give every freed row of a vocabulary back to the system and fetch each new
    one page by page, which costs a twentieth of a millisecond a row. Larger pieces,
    such as weights, still go back at once.
    """
    if not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _SMALL)
        mallopt(_TRIM_THRESHOLD, _SPARE)


@contextmanager
def libraries_spared() -> Iterator[None]:
    """Let Python's garbage collector pass over what is in memory already.

    With torch and transformers it is a million objects: a full collection takes a
    quarter of a second, in the midst of a round.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
