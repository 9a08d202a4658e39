"""The checkpoints that are on this machine, for a list to choose from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from core.checkpoints import demo, layer_skipping
from core.checkpoints.facts import CheckpointFacts, CheckpointKind
from core.checkpoints.hub_cache import cached_ids
from core.checkpoints.inspection import inspect_checkpoint
from core.checkpoints.places import (
    MODELS_VARIABLE,
    drafts_folder,
    find_checkpoints,
    named_places,
)
from core.demo_pair import DRAFT_REFERENCE, shipped_draft
from core.errors import CoreError

__all__ = ["MODELS_VARIABLE", "KnownCheckpoint", "Shelf", "catalogue"]


class Shelf(StrEnum):
    """Why a checkpoint is known."""

    DEMO = "demo pair"
    DRAFTS = "drafts made here"
    PLACE = "folder"
    HUB = "hub cache"


@dataclass(frozen=True, slots=True)
class KnownCheckpoint:
    """A checkpoint on this machine and why it is known.

    Attributes:
        shelf: what kind of place it was found in.
        place: the folder or file that the person named, or an empty string.
        facts: what it is; ``problem`` is set where it cannot be used.
    """

    shelf: Shelf
    place: str
    facts: CheckpointFacts


def catalogue(places: Iterable[str | Path] = ()) -> tuple[KnownCheckpoint, ...]:
    """Return the demo pair, the drafts made here, the person's places, the hub's cache.

    Nothing is loaded or fetched, and nothing is remembered from the last look.

    Args:
        places: folders and GGUF files of the person, beside those that the environment
            names.
    """
    return tuple(
        KnownCheckpoint(shelf, place, _facts(kind, reference, name))
        for shelf, place, kind, reference, name in _entries(tuple(map(Path, places)))
    )


def known_checkpoints(
    places: Iterable[str | Path] = (),
) -> tuple[CheckpointFacts, ...]:
    """Return what the checkpoints of :func:`catalogue` are."""
    return tuple(entry.facts for entry in catalogue(places))


_Entry = tuple[Shelf, str, CheckpointKind, str, str]


def _entries(places: tuple[Path, ...]) -> Iterator[_Entry]:
    own = ((DRAFT_REFERENCE, f"{demo.DEMO_NAME}-draft"),) if shipped_draft() else ()
    for reference, name in (
        (demo.DEMO_REFERENCE, demo.DEMO_NAME),
        *own,
        (layer_skipping.LAYERS_REFERENCE, layer_skipping.LAYERS_NAME),
    ):
        yield Shelf.DEMO, "", CheckpointKind.DEMO, reference, name
    yield from _found(Shelf.DRAFTS, (drafts_folder(),))
    yield from _found(Shelf.PLACE, (*named_places(), *places))
    for hub_id in cached_ids():
        yield Shelf.HUB, "", CheckpointKind.HUB, hub_id, hub_id.rsplit("/", 1)[-1]


def _found(shelf: Shelf, places: tuple[Path, ...]) -> Iterator[_Entry]:
    for place, path in find_checkpoints(places):
        kind = CheckpointKind.FOLDER if path.is_dir() else CheckpointKind.GGUF
        yield shelf, str(place), kind, str(path), path.name


def _facts(kind: CheckpointKind, reference: str, name: str) -> CheckpointFacts:
    try:
        return inspect_checkpoint(reference)
    except CoreError as error:
        problem = error.sentence
    except Exception as error:  # one bad entry must not hide the others
        problem = f"The checkpoint {name} cannot be read ({type(error).__name__})."
    return CheckpointFacts(kind, reference, name, problem=problem)
