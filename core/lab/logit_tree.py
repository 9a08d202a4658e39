"""The real logits of a model on a small tree under a prompt, as a table.

The vocabulary is cut to a few candidates, as if all other ids were masked. What is left
is small enough to sum over every path, yet the numbers are the models' own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from core.checkpoints.progress import Cancelled
from core.lab.batched import paths
from core.lab.table_model import TableModel, table_facts
from core.runtime.runner import Model, Runner

ROOT = (0,)  # stands for the prompt, whose own ids are not among the candidates


@torch.inference_mode()
def best_candidates(
    models: Sequence[Model],
    prompt: Sequence[int],
    count: int,
    should_stop: Callable[[], bool] = lambda: False,
) -> tuple[int, ...]:
    """Return ``count`` ids that the models rank highest after ``prompt``, by turns.

    Raises:
        Cancelled: if the person asked to stop.
    """
    width = min(model.facts.vocabulary_size for model in models)
    ranked = [
        _after_prompt(model, prompt, 0, should_stop)[1][:width]
        .topk(min(count, width))
        .indices.tolist()
        for model in models
    ]
    turns = [token_id for row in zip(*ranked, strict=True) for token_id in row]
    return tuple(sorted(list(dict.fromkeys(turns))[:count]))


@torch.inference_mode()
def read_tree(
    model: Model,
    prompt: Sequence[int],
    candidates: Sequence[int],
    depth: int,
    should_stop: Callable[[], bool] = lambda: False,
) -> TableModel:
    """Return a table of the model's logits of the candidates.

    Args:
        model: read ``len(candidates) ** (depth - 1)`` times.
        prompt: at least one id.
        candidates: the ids that are left of the vocabulary.
        depth: tokens after the prompt that the table can be asked for.
        should_stop: asked between the readings.

    Returns:
        A float64 table whose ids are places in ``candidates``; its prompt is ``ROOT``.

    Raises:
        Cancelled: if the person asked to stop.
    """
    kept = torch.tensor(candidates)
    runner, row = _after_prompt(model, prompt, depth, should_stop)
    rows: dict[tuple[int, ...], Tensor] = {}
    rows[ROOT] = row[kept.to(row.device)].double().cpu()
    for path in paths(len(candidates), depth):
        if len(path) == depth - 1 and path:
            if should_stop():
                raise Cancelled
            runner.truncate(len(prompt))
            logits = runner.step([candidates[i] for i in path])  # [depth - 1, V]
            few = logits[:, kept.to(logits.device)].double().cpu()
            rows |= {(*ROOT, *path[: i + 1]): few[i] for i in range(len(path))}
    facts = table_facts(len(candidates), name=model.facts.name)
    return TableModel(lambda prefix: rows[prefix], facts)


def _after_prompt(
    model: Model, prompt: Sequence[int], more: int, should_stop: Callable[[], bool]
) -> tuple[Runner, Tensor]:
    """Return a runner that has read the prompt, and the [V] logits after it."""
    runner = model.new_runner(len(prompt) + more)
    if not runner.prefill(prompt[:-1], lambda done: not should_stop()) or should_stop():
        raise Cancelled
    return runner, runner.step(prompt[-1:])[-1].clone()
