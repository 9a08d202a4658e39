"""The shared libraries that Qt needs from a Linux system, and how to get them.

The one list behind ``draftrace doctor`` and ``packaging/dev.py``, which loads this file
by its path before anything is installed: standard library only. Qt's own message blames
libxcb-cursor0 whatever is missing, so each library is tried by itself.
"""

from __future__ import annotations

import ctypes
import sys

# By library, the Debian and Ubuntu package that holds it.
TO_DRAW = {
    "libGL.so.1": "libgl1",
    "libEGL.so.1": "libegl1",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libfontconfig.so.1": "libfontconfig1",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libdbus-1.so.3": "libdbus-1-3",
}
TO_SHOW_A_WINDOW = {
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-shape.so.0": "libxcb-shape0",
}
ALL = {**TO_DRAW, **TO_SHOW_A_WINDOW}


def missing(libraries: dict[str, str] = ALL) -> tuple[str, ...]:
    """Return the libraries that cannot be loaded; none on other systems than Linux."""
    if not sys.platform.startswith("linux"):
        return ()
    return tuple(name for name in libraries if not _loads(name))


def apt_line(names: tuple[str, ...]) -> str:
    """Return the command that installs the packages of ``names``."""
    return "sudo apt-get install " + " ".join(ALL[name] for name in names)


def _loads(name: str) -> bool:
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True
