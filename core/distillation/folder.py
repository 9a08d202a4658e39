"""The folder that becomes a draft, and what lies in it while it is being made."""

from __future__ import annotations

import contextlib
import errno
import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.checkpoints.progress import megabytes
from core.distillation.plan import DistillPlan
from core.errors import ConfigurationError, ModelLoadError

_BEGUN = "begun.json"
_LEAST_FREE = 256 << 20  # texts and a draft of a first short try
_FULL = (errno.ENOSPC, errno.EDQUOT)


class DraftFolder:
    """The finished draft at the top, everything it is made from in ``work``.

    Attributes:
        root: the draft's folder.
        work: texts and the state of training; may be deleted once the draft is done.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.work = root / "work"

    @property
    def texts(self) -> Path:
        """Where the target's texts lie that are trained on."""
        return self.work / "texts"

    @property
    def held_out(self) -> Path:
        """Where the texts lie that only judge."""
        return self.work / "held-out"

    @property
    def training(self) -> Path:
        """Where the state of training lies."""
        return self.work / "training"

    @property
    def has_draft(self) -> bool:
        """Whether a draft was written already."""
        return (self.root / "config.json").is_file()

    def put_in_place(self, made: Path) -> None:
        """Move the files of the folder ``made`` to the top, the config last."""
        files = sorted(made.iterdir(), key=lambda path: path.name == "config.json")
        for file in files:
            file.replace(self.root / file.name)
        made.rmdir()


def is_begun(root: Path) -> bool:
    """Return whether a distillation in ``root`` could be gone on with."""
    return (DraftFolder(root.expanduser()).work / _BEGUN).is_file()


def check_out(plan: DistillPlan) -> DraftFolder:
    """Return the folder of ``plan``, in which nothing will be overwritten.

    Raises:
        ConfigurationError: if it holds something else, or nothing to go on with, or
            cannot be written.
        ModelLoadError: without room on the disk.
    """
    folder = DraftFolder(Path(plan.out).expanduser())
    root = folder.root
    try:
        _check(folder, resume=plan.resume)
    except OSError as error:  # a folder that may not even be looked into
        if error.errno in _FULL:
            raise _full(root, shutil.disk_usage(_there_already(root)).free) from error
        why = f"cannot be written ({error.strerror}); choose another one"
        raise _unfit(root, why) from error
    return folder


def _check(folder: DraftFolder, *, resume: bool) -> None:
    root, begun = folder.root, folder.work / _BEGUN
    if root.exists() and not root.is_dir():
        raise _unfit(root, "is a file; choose a folder")
    if resume and not begun.is_file():
        raise _unfit(
            root, "holds no distillation to go on with; start one without resuming"
        )
    if not resume and root.is_dir() and any(root.iterdir()):
        cure = "resume the distillation in it or choose another folder"
        if not begun.is_file():
            cure = "choose a new or empty one"
        raise _unfit(root, f"is not empty; {cure}")
    # Try it: permissions say little of a read-only disk, or of who is asking.
    with tempfile.TemporaryDirectory(prefix=".draftrace-", dir=_there_already(root)):
        pass
    if not resume:
        _require_space(root)


def begin(folder: DraftFolder, source: dict[str, Any]) -> None:
    """Note what the draft depends on, or check that it is what was noted.

    Args:
        folder: that :func:`check_out` returned.
        source: settings that must not change, as JSON values.

    Raises:
        ConfigurationError: naming the first setting that was another one.
    """
    begun = folder.work / _BEGUN
    if not begun.is_file():
        folder.work.mkdir(parents=True, exist_ok=True)
        begun.write_text(json.dumps(source, indent=1), encoding="utf-8")
        return
    found = _read(begun)
    for key, value in source.items():
        if found.get(key) != value:
            raise ConfigurationError(
                f"The distillation in {folder.root} was begun with {key} "
                f"{found.get(key)!r}, not {value!r}; resume it with the same, or "
                "choose another folder.",
                setting=key,
            )


def _read(begun: Path) -> dict[str, Any]:
    try:
        found = json.loads(begun.read_text(encoding="utf-8"))
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise _unfit(
            begun.parent.parent, f"has a broken {_BEGUN}; start in another folder"
        )
    return found


def _unfit(root: Path, what: str) -> ConfigurationError:
    return ConfigurationError(f"The folder {root} {what}.", path=str(root))


def _require_space(root: Path) -> None:
    free = shutil.disk_usage(_there_already(root)).free
    if free < _LEAST_FREE:
        raise _full(root, free)


def _there_already(root: Path) -> Path:
    return next(p for p in (root, *root.absolute().parents) if p.exists())


def _full(root: Path, free: int) -> ModelLoadError:
    return ModelLoadError(
        f"The disk of {root} is full ({megabytes(free)} free, a draft in the making "
        f"needs {megabytes(_LEAST_FREE)} or more); free some space and resume, or "
        "choose another folder.",
        free=free,
    )


@contextlib.contextmanager
def disk_errors(folder: DraftFolder) -> Iterator[None]:
    """Turn a full or read-only disk into one sentence; what is whole is kept.

    Raises:
        ModelLoadError: for an error of the disk inside.
    """
    from safetensors import SafetensorError

    try:
        yield
    except OSError as error:
        raise _disk_error(folder.root, error.errno in _FULL, str(error)) from error
    except SafetensorError as error:
        full = any(f"os error {number}" in str(error) for number in _FULL)
        raise _disk_error(folder.root, full, str(error)) from error


def _disk_error(root: Path, full: bool, detail: str) -> ModelLoadError:
    if full:
        return _full(root, shutil.disk_usage(_there_already(root)).free)
    return ModelLoadError(
        f"The draft in {root} cannot be written or read; check the folder's "
        "permissions or choose another one.",
        detail=detail,
        path=str(root),
    )
