"""From what a person asks for to the settings of collecting and teaching."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.checkpoints.facts import CheckpointFacts
from core.distillation.collecting import CollectingSettings
from core.distillation.plan import DistillPlan
from core.distillation.prompt_file import prompts_from_file
from core.distillation.prompts import TrainingPrompt, training_prompts
from core.distillation.student import SIZES, StudentShape
from core.distillation.training import TrainingSettings
from core.errors import ConfigurationError

COLLECTING_SHARE = 0.5  # of the time; teaching has the rest
HELD_OUT_SHARE = 0.1  # of the collecting
LONG_MINUTES = 20.0  # below it batches and breaks between looks are smaller
SHORT_ROWS = 16
_HELD_OUT_SEED = 1  # texts that judge are other draws, too
_KEYS = {
    "hidden": "hidden_size",
    "layers": "num_hidden_layers",
    "inner": "intermediate_size",
    "heads": "num_attention_heads",
    "key_heads": "num_key_value_heads",
    "head_rows": "draft_head_rows",
}


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything that decides what draft comes out, but the time.

    Attributes:
        prompts: what the target is asked.
        shape: of the student.
        collecting: how the target's texts are drawn.
        judging: how the held-out ones are drawn.
    """

    prompts: tuple[TrainingPrompt, ...]
    shape: StudentShape
    collecting: CollectingSettings
    judging: CollectingSettings


def recipe_of(plan: DistillPlan) -> Recipe:
    """Return the recipe of ``plan``.

    Raises:
        ConfigurationError: if the size or the prompts cannot be used.
    """
    prompts = (
        prompts_from_file(plan.prompts) if plan.prompts else training_prompts(plan.seed)
    )
    rows = CollectingSettings().rows if plan.minutes >= LONG_MINUTES else SHORT_ROWS
    collecting = CollectingSettings(rows=rows, seed=2 * plan.seed)
    judging = dataclasses.replace(collecting, seed=collecting.seed + _HELD_OUT_SEED)
    return Recipe(prompts, shape_of(plan.size), collecting, judging)


def source_of(
    plan: DistillPlan, recipe: Recipe, target: CheckpointFacts
) -> dict[str, Any]:
    """Return what must stay the same when a distillation is resumed."""
    return {
        "target": target.name,
        "parameters": target.num_parameters,
        "size": dataclasses.asdict(recipe.shape),
        "prompts": _name(plan, recipe.prompts),
        "seed": plan.seed,
    }


def teaching_of(plan: DistillPlan, seconds: float) -> TrainingSettings:
    """Return how the student is taught for ``seconds`` in all."""
    often = plan.minutes < LONG_MINUTES
    return TrainingSettings(
        seconds=seconds,
        judge_every=20 if often else TrainingSettings().judge_every,
        seed=plan.seed,
    )


def _name(plan: DistillPlan, prompts: Sequence[TrainingPrompt]) -> str:
    """Return which prompts these are: where they come from, and a mark of all texts."""
    digest = hashlib.sha256("\0".join(p.text for p in prompts).encode()).hexdigest()
    kind = Path(plan.prompts).name if plan.prompts else "library"
    return f"{kind} ({digest[:12]})"


def shape_of(size: str) -> StudentShape:
    """Return the shape that a size or a config.json names.

    Raises:
        ConfigurationError: if the file does not describe a shape.
    """
    return SIZES[size] if size in SIZES else _from_config(Path(size).expanduser())


def _from_config(path: Path) -> StudentShape:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _unfit(path, "cannot be read as JSON") from error
    if not isinstance(config, dict):
        raise _unfit(path, "is no object")
    if config.keys().isdisjoint(_KEYS.values()):
        raise _unfit(path, "says nothing of a shape")
    defaults = dataclasses.asdict(StudentShape())
    defaults["key_heads"] = config.get(_KEYS["heads"], defaults["heads"])
    found = {name: config.get(key, defaults[name]) for name, key in _KEYS.items()}
    for name, value in found.items():
        if type(value) is not int or value < 1:
            raise _unfit(path, f"has {_KEYS[name]} {value!r}, not a number above 0")
    return _checked(path, StudentShape(**found))


def _checked(path: Path, shape: StudentShape) -> StudentShape:
    if shape.hidden % (2 * shape.heads) or shape.heads % shape.key_heads:
        raise _unfit(
            path,
            f"has {shape.heads} heads and {shape.key_heads} key heads over a width of "
            f"{shape.hidden}, which do not divide it evenly",
        )
    return shape


def _unfit(path: Path, what: str) -> ConfigurationError:
    return ConfigurationError(
        f"The size {path.name} {what}; give hidden_size, num_hidden_layers, "
        "intermediate_size and num_attention_heads as a Llama config does.",
        path=str(path),
    )
