"""The ids that a draft proposes from: ``draft_head.json`` beside its weights.

A small draft spends most of its time in its output head, on tokens that hardly ever
come. Where a checkpoint names its frequent ids, our runtime cuts the head to them when
the checkpoint drafts; as a target, and in other engines, it is an ordinary one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from core.checkpoints.names import label
from core.errors import ModelLoadError

DRAFT_HEAD = "draft_head.json"
_VERSION = 1


def write_draft_head(folder: Path, ids: Sequence[int]) -> None:
    """Let the checkpoint in ``folder`` draft from ``ids`` only, which are sorted."""
    content = json.dumps({"version": _VERSION, "ids": sorted(ids)})
    (folder / DRAFT_HEAD).write_text(content + "\n", encoding="utf-8")


def read_draft_head(folder: Path, vocabulary_size: int) -> tuple[int, ...] | None:
    """Return the ids that the checkpoint in ``folder`` drafts from; None for all.

    Args:
        folder: of a checkpoint; a file has no sidecar.
        vocabulary_size: ids that may be proposed at all.

    Raises:
        ModelLoadError: if there is a list that cannot be right.
    """
    file = folder / DRAFT_HEAD
    if not file.is_file():
        return None
    ids = _ids(folder, _content(file))
    for before, after in pairwise((-1, *ids)):
        if not before < after < vocabulary_size:
            raise _broken(
                folder,
                f"holds {after} after {before}, where ids must rise and stay below "
                f"{vocabulary_size}",
            )
    return ids


def _content(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise _broken(file.parent, "cannot be read as JSON") from error


def _ids(folder: Path, content: Any) -> tuple[int, ...]:
    version = content.get("version") if isinstance(content, dict) else None
    if version != _VERSION:
        raise _broken(folder, f"has version {version!r}, not {_VERSION}")
    ids = content.get("ids")
    if not isinstance(ids, list) or not ids or not all(type(i) is int for i in ids):
        raise _broken(folder, "lists no ids")
    return tuple(ids)


def _broken(folder: Path, what: str) -> ModelLoadError:
    return ModelLoadError(
        f"The list {DRAFT_HEAD} of {label(folder)} {what}; make the draft again, or "
        "delete that file to draft from the whole vocabulary.",
        file=DRAFT_HEAD,
        path=str(folder),
    )
