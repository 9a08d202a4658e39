"""Where checkpoints lie on this machine: folders and files, found without reading them.

A place is walked a few levels deep, because programs that keep models sort them by
maker and name. Whatever looks like a checkpoint is found, also a broken one: what is
wrong with it is for inspection to say.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import platformdirs

MODELS_VARIABLE = "DRAFTRACE_MODELS"
_DEEPEST = 3
_MARKS = ("config.json", "adapter_config.json")
_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth")
_LATER_PART = re.compile(r"-(?!0*1-of-)\d+-of-\d+\.gguf$", re.IGNORECASE)


def drafts_folder() -> Path:
    """Return where drafts that were made on this machine are kept."""
    return Path(platformdirs.user_data_dir("draftrace", appauthor=False)) / "drafts"


def named_places() -> tuple[Path, ...]:
    """Return the folders and files that the environment names."""
    texts = os.environ.get(MODELS_VARIABLE, "").split(os.pathsep)
    return tuple(Path(text).expanduser() for text in texts if text.strip())


def find_checkpoints(places: Iterable[Path]) -> Iterator[tuple[Path, Path]]:
    """Yield every checkpoint of ``places`` once, with the place it was found in."""
    seen: set[Path] = set()
    for place in places:
        for path in _walk(place, _DEEPEST):
            if path.absolute() not in seen:
                seen.add(path.absolute())
                yield place, path


def _walk(path: Path, deepest: int) -> Iterator[Path]:
    if _is_gguf(path) or _is_checkpoint_folder(path):
        yield path
    elif deepest >= 0:
        for child in _children(path):
            yield from _walk(child, deepest - 1)


def _children(folder: Path) -> list[Path]:
    """Return what a folder holds, sorted; nothing where it cannot be read."""
    try:
        found = sorted(folder.iterdir())
    except OSError:
        return []
    return [p for p in found if not p.name.startswith(".")]


def _is_gguf(path: Path) -> bool:
    """Return whether it is a GGUF file; of a split one, the first part."""
    return path.suffix.lower() == ".gguf" and not _LATER_PART.search(path.name)


def _is_checkpoint_folder(path: Path) -> bool:
    if any((path / mark).is_file() for mark in _MARKS):
        return True
    return any(child.suffix in _WEIGHTS for child in _children(path))
