"""Which files of a hub model are needed, which are here, and whether they are whole.

In the child process. The layout is the hub library's own cache: blobs under their hash,
and a folder of links a commit, so that every program finds what one of them fetched.
"""

from __future__ import annotations

import contextlib
import fnmatch
import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Pickles, other formats and second copies of the weights stay where they are.
_NEEDED = ("*.json", "model*.safetensors", "*.jinja", "*.txt", "tokenizer.model")
_CARD = "README.md"
_CHUNK = 1 << 20
OnBytes = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file of a commit.

    Attributes:
        name: at the top of the repository; files below are never needed.
        size: in bytes.
        blob: its hash, under which the cache keeps it.
        is_large: the hash is the SHA-256 of the content, else that of a git blob.
    """

    name: str
    size: int
    blob: str
    is_large: bool


@dataclass(frozen=True, slots=True)
class Storage:
    """The cache's folder of one model at one commit."""

    root: Path
    commit: str

    def blob(self, file: HubFile) -> Path:
        """Return where the content of ``file`` lies, or will lie."""
        return self.root / "blobs" / file.blob

    def partial(self, file: HubFile) -> Path:
        """Return where what has arrived of ``file`` is kept."""
        return self.root / "blobs" / f"{file.blob}.draftrace.incomplete"

    @property
    def snapshot(self) -> Path:
        """The folder that loading is pointed to."""
        return self.root / "snapshots" / self.commit

    def publish(self, files: list[HubFile]) -> None:
        """Put every file into the folder of the commit, then make it the newest."""
        self.snapshot.mkdir(parents=True, exist_ok=True)
        for file in files:
            _link(self.blob(file), self.snapshot / file.name)
        newest = self.root / "refs" / "main"
        newest.parent.mkdir(parents=True, exist_ok=True)
        newest.write_text(self.commit, encoding="utf-8")


def needed_files(siblings: list[Any]) -> list[HubFile]:
    """Return what loading needs of the files that the hub lists, small ones first."""
    wanted = [s for s in siblings if _is_needed(s.rfilename)]
    return sorted((_hub_file(s) for s in wanted), key=lambda f: (f.size, f.name))


def is_whole(storage: Storage, file: HubFile, on_bytes: OnBytes) -> bool:
    """Return whether ``file`` is here and has the hash that the hub names.

    A file that has another one is deleted. Where links cannot be made the content lies
    in the folder of the commit alone.
    """
    for path in (storage.blob(file), storage.snapshot / file.name):
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_size == file.size and hash_of(path, file, on_bytes):
                path.replace(storage.blob(file))  # publishing moves it to its place
                return True
            path.unlink()
    return False


def hash_of(path: Path, file: HubFile, on_bytes: OnBytes) -> bool:
    """Return whether the content of ``path`` has the hash of ``file``."""
    digest = hashlib.sha256() if file.is_large else _git_digest(file.size)
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
            on_bytes(len(chunk))
    return digest.hexdigest() == file.blob


def _is_needed(name: str) -> bool:
    if "/" in name:
        return False
    return name == _CARD or any(fnmatch.fnmatch(name, end) for end in _NEEDED)


def _hub_file(sibling: Any) -> HubFile:
    if sibling.lfs is not None:
        sha256 = sibling.lfs["sha256"]
        return HubFile(sibling.rfilename, sibling.size or 0, sha256, True)
    return HubFile(sibling.rfilename, sibling.size or 0, sibling.blob_id, False)


def _git_digest(size: int) -> Any:
    """Return git's digest of a blob, which begins with its kind and size."""
    return hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)


def _link(blob: Path, place: Path) -> None:
    """Show ``blob`` at ``place``; where links are forbidden, as a file of its own."""
    place.unlink(missing_ok=True)
    try:
        place.symlink_to(os.path.relpath(blob, place.parent))
    except OSError:  # Windows without the right to make links
        blob.replace(place)
