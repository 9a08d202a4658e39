"""The kernels inside any transformers module."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from torch import Tensor
from transformers import PreTrainedModel

from core.events import ModelFacts
from core.runtime import checks, packed_linear, row_attention
from core.runtime.kv_cache import LayerShape
from core.runtime.transformers_model import Calling, TransformersModel


def accelerate(
    module: PreTrainedModel,
    facts: ModelFacts,
    calling: Calling,
    shapes: Sequence[LayerShape | None],
    logits: Tensor,
) -> TransformersModel:
    """Put the kernels into ``module`` as far as its results stay what they were.

    Args:
        module: changed in place: its linear layers, and its attention if that works.
        facts: of the plain model.
        calling: how to call the module.
        shapes: what each layer writes into the cache.
        logits: [n, V] of the plain module for :func:`checks.sample_ids`.

    Returns:
        The model, whose facts say whether rows stand alone.
    """
    packed_linear.pack(module)
    calling = dataclasses.replace(calling, few_rows_alone=True)
    model = TransformersModel(module, facts, calling, shapes)
    if not _use_row_attention(module, model, logits):
        return model
    ids = checks.sample_ids(facts.vocabulary_size)
    invariant = packed_linear.only_packed(module) and checks.rows_stand_alone(
        model, ids
    )
    facts = dataclasses.replace(facts, row_invariant=invariant)
    return TransformersModel(module, facts, calling, shapes)


def _use_row_attention(
    module: PreTrainedModel, model: TransformersModel, logits: Tensor
) -> bool:
    """Switch to our attention; back again unless every layer uses it, and rightly."""
    if not module._can_set_attn_implementation():  # it would warn, and do nothing
        return False
    before = module.config._attn_implementation or "eager"
    calls = row_attention.ROW_ATTENTION.calls
    module.set_attn_implementation(row_attention.NAME)
    ids = checks.sample_ids(model.facts.vocabulary_size)
    right = checks.agree(checks.together(model, ids), logits)
    served = row_attention.ROW_ATTENTION.calls - calls
    if right and served == model.facts.num_layers:
        return True
    module.set_attn_implementation(before)
    return False
