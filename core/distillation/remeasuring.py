"""Measuring a draft that is made already, and writing its card's figures anew."""

from __future__ import annotations

import dataclasses
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from core.checkpoints.inspection import inspect_checkpoint
from core.distillation.card import MACHINE_CARD, DraftCard, write_card
from core.distillation.folder import DraftFolder, disk_errors
from core.distillation.measured_draft import measured_draft
from core.distillation.plan import (
    DistillEvent,
    DistillFinished,
    DistillPlan,
    DistillProgress,
    Stage,
)
from core.distillation.recipe import recipe_of
from core.errors import ConfigurationError
from core.events import LoadProgress

_TABLES = ("data", "recipe", "seconds")
_TEXTS = ("name", "target", "licence", "command")


def remeasure(
    plan: DistillPlan, should_stop: Callable[[], bool]
) -> Iterator[DistillEvent | LoadProgress]:
    """Measure the draft in ``plan.out`` on ``plan.measure`` prompts of each kind.

    Yields progress, then DistillFinished; the card is written unless it was stopped.

    Args:
        plan: which draft; only prompts, seed and target count beside it.
        should_stop: asked between decodings.

    Raises:
        ConfigurationError: if there is no draft of this target.
        ModelLoadError: if its card could not be written.
    """
    folder, began = Path(plan.out).expanduser(), time.monotonic()
    card = read_card(folder)
    _require_writable(folder)
    _require_target(card, inspect_checkpoint(plan.target.reference).name)
    steps = measured_draft(plan, recipe_of(plan), folder, should_stop)
    figures = None
    while True:
        try:
            done = next(steps)
        except StopIteration as end:
            figures = end.value
            break
        if isinstance(done, LoadProgress):
            yield done
            continue
        left = (time.monotonic() - began) * (1 - done) / done
        yield DistillProgress(Stage.MEASURING, done, left)
    if figures is not None:
        with disk_errors(DraftFolder(folder)):
            write_card(folder, dataclasses.replace(card, figures=figures))
    yield DistillFinished(
        folder=str(folder),
        cancelled=figures is None,
        tokens=0,
        seconds=0.0,
        acceptance=card.expected_acceptance,
        figures=figures,
    )


def _require_writable(folder: Path) -> None:
    """Try to write before measuring takes its minutes; permissions say too little."""
    with (
        disk_errors(DraftFolder(folder)),
        tempfile.TemporaryDirectory(prefix=".draftrace-", dir=folder),
    ):
        pass


def read_card(folder: Path) -> DraftCard:
    """Return the card of the draft in ``folder``, without its figures.

    Raises:
        ConfigurationError: if there is none that Draftrace wrote.
    """
    try:
        found = json.loads((folder / MACHINE_CARD).read_text(encoding="utf-8"))
        return _card(found)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigurationError(
            f"The folder {folder} holds no draft with a card that Draftrace wrote; "
            "name the folder of a finished draft.",
            path=str(folder),
        ) from error


def _card(found: dict[str, Any]) -> DraftCard:
    data, recipe, seconds = (tuple(found[key].items()) for key in _TABLES)
    name, target, licence, command = (str(found[key]) for key in _TEXTS)
    expected = found["expected_acceptance"]
    return DraftCard(
        name, target, licence, command, data, recipe, seconds, expected, None
    )


def _require_target(card: DraftCard, target: str) -> None:
    if card.target != target:
        raise ConfigurationError(
            f"The draft {card.name} was made for {card.target}, not for {target}; give "
            f"{card.target} as the target.",
            target=target,
        )
