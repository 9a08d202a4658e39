"""Numba kernels for few rows on a CPU.

Compiled once and kept in the user's cache folder, since the folder of the program may
be read-only. Numba notices a changed file, but not a change in a file that it imports;
the folder's name therefore carries a hash of all of them.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import platformdirs
from numba import config


def _digest() -> str:
    sources = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(p.read_bytes() for p in sources)).hexdigest()[:12]


if not config.CACHE_DIR:  # NUMBA_CACHE_DIR, when somebody set it, wins
    _root = platformdirs.user_cache_dir("draftrace", appauthor=False)
    config.CACHE_DIR = str(Path(_root) / "kernels" / _digest())
