"""The user's cache: folders that are either whole or not there.

A folder is written under a temporary name beside its place and renamed when whole. A
manifest in it lists every file, so that one that was cut or changed later is noticed.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import platformdirs

from core.checkpoints.progress import Work, megabytes
from core.errors import ModelLoadError

MANIFEST = "draftrace.json"
CACHE_VARIABLE = "DRAFTRACE_CACHE"
_SCHEMA = 1
_CHUNK = 1 << 20
_ALWAYS_HASHED = 8 << 20  # files up to this size are hashed at every start


def cache_root() -> Path:
    """Return the folder that holds what Draftrace made or fetched itself."""
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen).expanduser()
    return Path(platformdirs.user_cache_dir("draftrace", appauthor=False))


def require_space(folder: Path, needed: int, what: str) -> None:
    """Check that the disk of ``folder`` has room before anything is written.

    Raises:
        ModelLoadError: naming the bytes needed and free.
    """
    free = shutil.disk_usage(_existing_parent(folder)).free
    if free < needed:
        raise _no_space(what, needed, free)


@contextlib.contextmanager
def disk_errors(folder: Path, needed: int, what: str) -> Iterator[None]:
    """Turn a full or read-only disk into one sentence.

    Raises:
        ModelLoadError: for an OSError inside.
    """
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            free = shutil.disk_usage(_existing_parent(folder)).free
            raise _no_space(what, needed, free) from error
        reason = error.strerror or type(error).__name__
        raise ModelLoadError(
            f"{what} could not be written to the cache ({reason}); check the folder's "
            f"permissions or point {CACHE_VARIABLE} to another folder.",
            detail=str(error),
        ) from error


@contextlib.contextmanager
def partial_folder(root: Path) -> Iterator[Path]:
    """Give a temporary folder inside ``root`` that is gone afterwards."""
    root.mkdir(parents=True, exist_ok=True)
    _sweep(root)
    folder = Path(tempfile.mkdtemp(prefix=f".partial-{os.getpid()}-", dir=root))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def publish(made: Path, place: Path, source: dict[str, Any], work: Work) -> Path:
    """Write the manifest of ``made`` and rename it to ``place``.

    Another process may have published the same meanwhile; theirs is kept if whole.
    """
    _write_manifest(made, source, work)
    if place.exists() and not is_whole(place, source):
        place.rename(made.parent / "replaced")  # inside the folder that is deleted
    with contextlib.suppress(OSError):
        made.rename(place)
    if not is_whole(place, source):
        raise OSError(errno.EIO, "the finished folder could not be put in its place")
    return place


def is_whole(folder: Path, source: dict[str, Any]) -> bool:
    """Return whether ``folder`` is what was published from ``source``.

    Sizes are always checked and small files hashed; a large file is hashed only if its
    time differs from the manifest (the folder was copied or the file touched).
    """
    manifest = _read_manifest(folder)
    if manifest.get("schema") != _SCHEMA or manifest.get("source") != source:
        return False
    files = manifest.get("files")
    if not isinstance(files, dict) or not files:
        return False
    try:
        return all(_is_same(folder / name, entry) for name, entry in files.items())
    except (OSError, KeyError, TypeError):
        return False


def sha256_of(path: Path, work: Work | None = None, stage: str = "") -> str:
    """Return the SHA-256 of a file, reporting to ``work`` if given."""
    digest, done, total = hashlib.sha256(), 0, path.stat().st_size
    with path.open("rb") as file:
        while chunk := file.read(8 * _CHUNK):
            digest.update(chunk)
            done += len(chunk)
            if work is not None:
                work.report_bytes(stage, done, total)
    return digest.hexdigest()


def _is_same(path: Path, entry: dict[str, Any]) -> bool:
    status = path.stat()
    if status.st_size != entry["size"]:
        return False
    touched = status.st_mtime_ns != entry["mtime_ns"]
    if touched or status.st_size <= _ALWAYS_HASHED:
        return sha256_of(path) == entry["sha256"]
    return True


def _write_manifest(folder: Path, source: dict[str, Any], work: Work) -> None:
    files = {}
    for path in sorted(folder.iterdir()):
        status = path.stat()
        files[path.name] = {
            "size": status.st_size,
            "mtime_ns": status.st_mtime_ns,
            "sha256": sha256_of(path, work, "Checking what was written"),
        }
    manifest = {"schema": _SCHEMA, "source": source, "files": files}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")


def _read_manifest(folder: Path) -> dict[str, Any]:
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return manifest if isinstance(manifest, dict) else {}


def _sweep(root: Path) -> None:
    """Delete temporary folders whose process is gone."""
    import psutil

    for folder in root.glob(".partial-*"):
        pid = folder.name.split("-")[1]
        if not pid.isdigit() or not psutil.pid_exists(int(pid)):
            shutil.rmtree(folder, ignore_errors=True)


def _existing_parent(folder: Path) -> Path:
    return next(p for p in (folder, *folder.absolute().parents) if p.exists())


def _no_space(what: str, needed: int, free: int) -> ModelLoadError:
    return ModelLoadError(
        f"{what} needs {megabytes(needed)} on disk and {megabytes(free)} are free; "
        f"free some space or point {CACHE_VARIABLE} to another disk.",
        needed=needed,
        free=free,
    )
