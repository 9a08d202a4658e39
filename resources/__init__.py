"""What ships beside the code: themes, icons, presets, the demo, help.

Files are named by their path below this folder, for example ``themes/dark.toml``.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path


def path(name: str) -> Path:
    """Return where a shipped file or folder lies.

    Raises:
        FileNotFoundError: naming what is there instead.
    """
    place = Path(str(files(__name__))) / name
    if not place.exists():
        known = ", ".join(names(str(Path(name).parent)))
        raise FileNotFoundError(f"No resource {name!r}; there are: {known}.")
    return place


def text(name: str) -> str:
    """Return a shipped text file."""
    return path(name).read_text(encoding="utf-8")


def names(folder: str) -> tuple[str, ...]:
    """Return the names in a shipped folder, sorted; none if there is no such folder."""
    root = Path(str(files(__name__)))
    found = (root / folder).glob("*") if (root / folder).is_dir() else ()
    return tuple(sorted(p.relative_to(root).as_posix() for p in found))
