"""What a folder or file is called in sentences for people."""

from __future__ import annotations

from pathlib import Path


def label(path: Path) -> str:
    """Return the last part of ``path``; for a hub snapshot, the model's own name."""
    folder = path if path.suffix != ".gguf" else path.parent
    if folder.parent.name == "snapshots":
        name = folder.parent.parent.name.rsplit("--", 1)[-1]
        return name if folder is path else path.name
    return path.name or str(path.absolute().name)
