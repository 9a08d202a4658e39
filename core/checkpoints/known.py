"""The checkpoints that are on this machine, for a list to choose from."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from core.checkpoints import demo, layer_skipping
from core.checkpoints.facts import CheckpointFacts, CheckpointKind
from core.checkpoints.hub_cache import cached_ids
from core.checkpoints.inspection import inspect_checkpoint
from core.errors import CoreError

MODELS_VARIABLE = "DRAFTRACE_MODELS"


def known_checkpoints() -> tuple[CheckpointFacts, ...]:
    """Return the demo pair, the person's own folders, and the hub's cache.

    Nothing is loaded or fetched. An entry that cannot be used has its ``problem`` set.
    """
    return tuple(_facts(kind, reference, name) for kind, reference, name in _entries())


def _entries() -> Iterator[tuple[CheckpointKind, str, str]]:
    yield CheckpointKind.DEMO, demo.DEMO_REFERENCE, demo.DEMO_NAME
    yield (
        CheckpointKind.DEMO,
        layer_skipping.LAYERS_REFERENCE,
        layer_skipping.LAYERS_NAME,
    )
    for path in _own_checkpoints():
        kind = CheckpointKind.FOLDER if path.is_dir() else CheckpointKind.GGUF
        yield kind, str(path), path.name
    for hub_id in cached_ids():
        yield CheckpointKind.HUB, hub_id, hub_id.rsplit("/", 1)[-1]


def _facts(kind: CheckpointKind, reference: str, name: str) -> CheckpointFacts:
    try:
        return inspect_checkpoint(reference)
    except CoreError as error:
        problem = error.sentence
    except Exception as error:  # one bad entry must not hide the others
        problem = f"The checkpoint {name} cannot be read ({type(error).__name__})."
    return CheckpointFacts(kind, reference, name, problem=problem)


def _own_checkpoints() -> Iterator[Path]:
    """Yield the checkpoints in the folders of ``DRAFTRACE_MODELS``."""
    for text in os.environ.get(MODELS_VARIABLE, "").split(os.pathsep):
        root = Path(text).expanduser()
        if not text.strip() or not root.is_dir():
            continue
        if (root / "config.json").is_file():
            yield root
        else:
            yield from _children(root)


def _children(root: Path) -> Iterator[Path]:
    try:
        paths = sorted(root.iterdir())
    except OSError:
        return
    for path in paths:
        if path.suffix.lower() == ".gguf" or (path / "config.json").is_file():
            yield path
