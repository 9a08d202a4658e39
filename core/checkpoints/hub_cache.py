"""Finding model hub checkpoints that are already on this machine. No network."""

from __future__ import annotations

import os
import re
from pathlib import Path

_ID = re.compile(r"[\w.-]+(/[\w.-]+)?")


def hub_cache_folder() -> Path:
    """Return the folder in which the hub library keeps what it fetched."""
    chosen = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE")
    if chosen:
        return Path(os.path.expandvars(chosen)).expanduser()
    home = os.environ.get("HF_HOME")
    if home:
        return Path(os.path.expandvars(home)).expanduser() / "hub"
    root = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(root).expanduser() / "huggingface" / "hub"


def is_hub_id(reference: str) -> bool:
    """Return whether ``reference`` is spelled like ``owner/name`` or ``name``."""
    is_file = reference.lower().endswith(".gguf")
    return bool(_ID.fullmatch(reference)) and ".." not in reference and not is_file


def local_snapshot(hub_id: str) -> Path | None:
    """Return the newest fetched folder of ``hub_id``, or None."""
    repository = hub_cache_folder() / f"models--{hub_id.replace('/', '--')}"
    try:
        revision = (repository / "refs" / "main").read_text(encoding="utf-8").strip()
    except OSError:
        return _any_snapshot(repository)
    folder = repository / "snapshots" / revision
    return folder if folder.is_dir() else _any_snapshot(repository)


def cached_ids() -> tuple[str, ...]:
    """Return the ids of all models that the hub library has fetched, sorted."""
    try:
        folders = sorted(hub_cache_folder().glob("models--*"))
    except OSError:
        return ()
    return tuple(f.name.removeprefix("models--").replace("--", "/") for f in folders)


def offline() -> bool:
    """Return whether a switch of the hub library forbids the network."""
    switches = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
    yes = {"1", "on", "yes", "true"}
    return any(os.environ.get(name, "").lower() in yes for name in switches)


def _any_snapshot(repository: Path) -> Path | None:
    """Return the snapshot that was written last (fetched by commit, no main)."""
    try:
        folders = [p for p in (repository / "snapshots").iterdir() if p.is_dir()]
    except OSError:
        return None
    return max(folders, key=lambda p: p.stat().st_mtime, default=None)
