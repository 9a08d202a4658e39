"""What the card of a draft says of how it was made."""

from __future__ import annotations

import dataclasses
import shlex
from pathlib import Path
from typing import Any

from core.checkpoints.facts import CheckpointFacts, CheckpointKind
from core.distillation.card import DraftCard
from core.distillation.clock import Stopwatch
from core.distillation.collecting import CollectingSettings
from core.distillation.plan import DistillPlan, DraftFigures, Stage
from core.distillation.recipe import Recipe, teaching_of
from core.distillation.training import TrainingSettings
from core.machine import package_version

_WHOLE_NAMES = (CheckpointKind.DEMO, CheckpointKind.HUB)


def card_of(
    plan: DistillPlan,
    recipe: Recipe,
    target: CheckpointFacts,
    watch: Stopwatch,
    tokens: int,
    acceptance: float | None,
    figures: DraftFigures | None,
) -> DraftCard:
    """Return the card.

    Args:
        plan: what was asked.
        recipe: what that meant.
        target: the facts of the target.
        watch: the seconds so far.
        tokens: collected of the target's text to learn from.
        acceptance: expected on held-out texts.
        figures: measured, or None.
    """
    return DraftCard(
        name=Path(plan.out).name,
        target=target.name,
        licence=target.licence,
        command=_command(plan, target, watch),
        data=tuple(_data(plan, recipe, target, tokens)),
        recipe=tuple(_recipe(plan, recipe, watch)),
        seconds=tuple(watch.seconds().items()),
        expected_acceptance=acceptance,
        figures=figures,
    )


def _command(plan: DistillPlan, target: CheckpointFacts, watch: Stopwatch) -> str:
    # A folder's path is nobody's business; its name says which model it was.
    whole = target.kind in _WHOLE_NAMES
    words = ["draftrace", "distill", target.reference if whole else target.name]
    words += ["--out", Path(plan.out).name, "--size", Path(plan.size).name]
    if plan.prompts:
        words += ["--prompts", Path(plan.prompts).name]
    words += ["--minutes", f"{watch.total / 60:.3g}"]
    return shlex.join(words + (["--seed", str(plan.seed)] if plan.seed else []))


def _data(
    plan: DistillPlan, recipe: Recipe, target: CheckpointFacts, tokens: int
) -> list[tuple[str, str]]:
    held_out = sum(prompt.held_out for prompt in recipe.prompts)
    where = Path(plan.prompts).name if plan.prompts else "Draftrace's own library"
    return [
        ("texts", f"{tokens:,} tokens, drawn from {target.name} itself"),
        ("prompts", f"{len(recipe.prompts):,} of {where}; {held_out} held out"),
        ("kinds", ", ".join(sorted({prompt.kind for prompt in recipe.prompts}))),
        *_rows(recipe.collecting, CollectingSettings),
    ]


def _recipe(
    plan: DistillPlan, recipe: Recipe, watch: Stopwatch
) -> list[tuple[str, str]]:
    teaching = teaching_of(plan, round(watch.of(Stage.TRAINING)))
    loss = teaching.variation
    return [
        *_rows(recipe.shape, type(recipe.shape)),
        ("loss", f"{1 - loss:g} forward KL + {loss:g} total variation"),
        *_rows(teaching, TrainingSettings),
        ("draftrace", package_version("draftrace")),
        ("torch", package_version("torch")),
    ]


def _rows(settings: Any, kind: type[Any]) -> list[tuple[str, str]]:
    """Return every field of a settings class as (name, value) in words."""
    found = [(f.name, getattr(settings, f.name)) for f in dataclasses.fields(kind)]
    return [
        (name.replace("_", " "), _word(value))
        for name, value in found
        if value is not None
    ]


def _word(value: Any) -> str:
    return ", ".join(map(_word, value)) if isinstance(value, tuple) else f"{value:g}"
