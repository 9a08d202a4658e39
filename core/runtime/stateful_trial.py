"""A model whose state cannot be rewound, tried against itself before it is trusted."""

from __future__ import annotations

import inspect
from dataclasses import replace

import torch
from torch import Tensor
from transformers import PreTrainedModel

from core.errors import CoreError
from core.events import ModelFacts
from core.runtime import checks, support
from core.runtime.stateful_model import StatefulModel, StatefulRunner, Stepping

# The older names go in transformers 5.40; RWKV keeps its own.
_ARGUMENTS = ("cache", "past_key_values", "cache_params", "state")
_TRIED = 24  # tokens of the trial
_PART = _TRIED // 3
_LOOSE = 0.1  # of the largest logit: what a narrow dtype may round, one by one


def wrap_stateful(
    module: PreTrainedModel, facts: ModelFacts, layer_kind: str
) -> StatefulModel:
    """Return a plain-only model, once it has proved that its state advances rightly.

    Args:
        module: a causal LM in eval mode.
        facts: of the model.
        layer_kind: of the layers that cannot be rewound.

    Raises:
        UnsupportedModelError: if stepping gives other logits than reading at once.
    """
    ids = [(7919 * i + 1) % facts.vocabulary_size for i in range(_TRIED)]
    whole = _at_once(module, ids)[:, : facts.vocabulary_size]
    stepping = _working(module, facts, ids, whole)
    # A narrow dtype's rounding would hide a wrong sum: there they are read one by one.
    together = replace(stepping, continues=True)
    thirds = [ids[:_PART], ids[_PART:-_PART], ids[-_PART:]]
    if checks.agree(_stepped(module, facts, together, thirds), whole):
        stepping = together
    facts = replace(facts, row_invariant=False)
    size = _state_bytes(StatefulRunner(module, facts, stepping, _TRIED), ids)
    return StatefulModel(module, facts, stepping, layer_kind, size)


def _working(
    module: PreTrainedModel, facts: ModelFacts, ids: list[int], whole: Tensor
) -> Stepping:
    """Return a way to step that gives the logits of reading all at once."""
    names = inspect.signature(module.forward).parameters
    argument = next((name for name in _ARGUMENTS if name in names), None)
    if argument is None:
        raise support.unsteppable(module, "they take no cache")
    inside = any(hasattr(part, "_setup_cache") for part in module.modules())
    last = support.keeps_last_logits(module)
    for makes_state in (False, True):
        stepping = Stepping(argument, makes_state, inside, last, facts.vocabulary_size)
        if _advances(module, facts, stepping, ids, whole):
            return stepping
    raise support.unsteppable(module, "their state does not advance token by token")


def _advances(
    module: PreTrainedModel,
    facts: ModelFacts,
    stepping: Stepping,
    ids: list[int],
    whole: Tensor,
) -> bool:
    """Return whether tokens one by one give the logits of all at once.

    The second start is from one token, and finds whatever the first has left behind.
    """
    tolerance = checks.TOLERANCE if facts.dtype == "float32" else _LOOSE
    starts = [ids[:_PART]], []
    try:
        for start in starts:
            begun = sum(map(len, start))
            parts = [*start, *([i] for i in ids[begun:])]
            rows = _stepped(module, facts, stepping, parts)
            if not checks.agree(rows, whole, tolerance):
                return False
    except CoreError:
        raise
    except Exception:  # a wrong state is told in as many ways as there are families
        return False
    return True


def _stepped(
    module: PreTrainedModel,
    facts: ModelFacts,
    stepping: Stepping,
    parts: list[list[int]],
) -> Tensor:
    """Return [n, V] logits of all tokens of ``parts``, each part in one step."""
    runner = StatefulRunner(module, facts, stepping, sum(map(len, parts)))
    return torch.cat([runner.step(part) for part in parts])


@torch.inference_mode()
def _at_once(module: PreTrainedModel, ids: list[int]) -> Tensor:
    device = next(module.get_input_embeddings().parameters()).device
    tokens = torch.tensor([ids], device=device)
    return module(input_ids=tokens, use_cache=False).logits[0].float()


def _state_bytes(runner: StatefulRunner, ids: list[int]) -> tuple[int, int]:
    """Return what the state takes before any token, and for each token."""
    half = len(ids) // 2
    runner.step(ids[:half])
    first = runner.state_bytes()
    runner.step(ids[half:])
    per_token = max(0, runner.state_bytes() - first) // (len(ids) - half)
    return max(0, first - half * per_token), per_token
