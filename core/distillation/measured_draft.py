"""Loading a finished draft beside its target, and measuring the pair."""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from pathlib import Path

from core.background import with_progress
from core.checkpoints.loading import LoadedModel, load_model
from core.checkpoints.progress import Cancelled
from core.config import ModelConfig
from core.distillation.measuring import chosen_prompts, measure
from core.distillation.plan import DistillPlan, DraftFigures
from core.distillation.recipe import LONG_MINUTES, Recipe
from core.events import LoadProgress
from core.runtime.heap import libraries_spared

Steps = Generator[float | LoadProgress, None, DraftFigures | None]


def measured_draft(
    plan: DistillPlan, recipe: Recipe, folder: Path, should_stop: Callable[[], bool]
) -> Steps:
    """Measure the draft in ``folder``, longer where the making took long.

    Yields:
        How loading goes, then how far the measuring is, 0 to 1.

    Returns:
        The figures; None when stopped.
    """
    if should_stop():
        return None
    try:
        target, draft = yield from with_progress(
            partial(_load_pair, plan.target, folder, should_stop)
        )
    except Cancelled:
        return None
    long = plan.minutes >= LONG_MINUTES
    prompts = chosen_prompts(recipe.prompts, plan.measure or (2 if long else 1))
    tokens = 96 if long else 32
    with libraries_spared():
        return (yield from measure(target, draft, prompts, tokens, should_stop))


def _load_pair(
    config: ModelConfig,
    folder: Path,
    should_stop: Callable[[], bool],
    tell: Callable[[LoadProgress], None],
) -> tuple[LoadedModel, LoadedModel]:
    # Resolved: a folder may be called as the demo pair is, and a path is not a name.
    own = ModelConfig(str(folder.resolve()), config.device, config.dtype)
    target = load_model(config, tell, should_stop)
    return target, load_model(own, tell, should_stop, drafts=True)
