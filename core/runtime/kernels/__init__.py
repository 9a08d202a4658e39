"""Numba kernels for few rows on a CPU.

Compiled once and kept in the user's cache folder, since the folder of the program may
be read-only. Numba notices a changed file, but not a change in a file that it imports;
the folder's name therefore carries a hash of all of them.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import platformdirs
from numba import config as _config
from numba import njit


def _digest() -> str:
    sources = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(p.read_bytes() for p in sources)).hexdigest()[:12]


config: Any = _config  # its names are made at run time
if not config.CACHE_DIR:  # NUMBA_CACHE_DIR, when somebody set it, wins
    _root = platformdirs.user_cache_dir("draftrace", appauthor=False)
    config.CACHE_DIR = str(Path(_root) / "kernels" / _digest())

# Division by zero gives infinity, as in numpy: a check for it would cost the vectors.
_COMMON = {"nogil": True, "error_model": "numpy"}


def kernel(function: Any) -> Any:
    """Compile what Python calls, and keep it on disk."""
    return njit(cache=True, **_COMMON)(function)


def part(function: Any) -> Any:
    """Compile what kernels call; it becomes a part of each."""
    return njit(**_COMMON)(function)


def chapter(function: Any) -> Any:
    """Write the function out where it is called.

    For functions that take many arrays: compiling each of them for its own sake, with
    the code that unpacks the arrays, would take most of the time.
    """
    return njit(inline="always", **_COMMON)(function)
