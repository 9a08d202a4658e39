"""Files that are shipped with the program, by name: ``icons/light/run.svg``."""

from __future__ import annotations

from functools import cache
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
from pathlib import Path

_HIDDEN = ("__pycache__", "__init__.py")


class UnknownResourceError(FileNotFoundError):
    """No resource has this name; the message lists those near it."""


def path(name: str) -> Path:
    """Return where the resource ``name`` lies.

    Raises:
        UnknownResourceError: if there is none; it lists the known names.
    """
    # Installed packages lie unpacked, also in our bundles, so the path stays valid.
    with as_file(_find(name)) as found:
        return found


def text(name: str) -> str:
    """Return the text of the resource ``name``.

    Raises:
        UnknownResourceError: if there is none; it lists the known names.
    """
    return _find(name).read_text(encoding="utf-8")


def names(folder: str = "") -> tuple[str, ...]:
    """Return the names of all resources, or of those in ``folder``, sorted."""
    start = f"{folder}/" if folder else ""
    return tuple(name for name in _shipped() if name.startswith(start))


@cache
def _shipped() -> tuple[str, ...]:
    """Return all names, sorted: looked for once, since they stay while we run."""
    return tuple(sorted(_walk(files(__name__), "")))


def _find(name: str) -> Traversable:
    known = names()
    if name not in known:
        near = names(name.rpartition("/")[0]) or known
        raise UnknownResourceError(
            f"There is no resource {name!r}; known are: {', '.join(near)}."
        )
    return files(__name__).joinpath(*name.split("/"))


def _walk(folder: Traversable, start: str) -> list[str]:
    found: list[str] = []
    for item in folder.iterdir():
        if item.name in _HIDDEN:
            continue
        name = start + item.name
        found += _walk(item, f"{name}/") if item.is_dir() else [name]
    return found
