"""Recording a model's steps when it is loaded, checked against the plain path."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from torch import Tensor
from transformers import PreTrainedModel

from core.runtime import checks, static_attention
from core.runtime.captured_graphs import Recorder
from core.runtime.captured_model import CapturedModel
from core.runtime.kv_cache import LayerShape
from core.runtime.runner import Model
from core.runtime.slot import OnFraction
from core.runtime.transformers_model import Calling, TransformersModel

RECORDED = (
    "Steps run as captured CUDA graphs, untested on a GPU so far; at load they gave "
    "the plain path's scores."
)
LOOSE = 0.05  # of the largest logit: what a narrow dtype may round

logger = logging.getLogger(__name__)


def capture(
    module: PreTrainedModel,
    eager: TransformersModel,
    calling: Calling,
    shapes: Sequence[LayerShape | None],
    logits: Tensor,
    on_fraction: OnFraction = lambda fraction: None,
    recorder: Recorder | None = None,
) -> Model:
    """Return ``module`` with recorded steps, or ``eager`` with a note of why not.

    Our attention is tried first, then the module's own.

    Args:
        module: changed in place: its attention, if that works.
        eager: the same weights without recordings.
        calling: how to call the module.
        shapes: what each layer writes into the cache.
        logits: [n, V] of the plain module for :func:`checks.sample_ids`.
        on_fraction: told how much is recorded, 0 to 1.
        recorder: records the steps; None for the one that suits the device.

    Raises:
        Exception: what ``on_fraction`` raises, to end the load.
    """
    own = module.config._attn_implementation or "eager"
    ours = module._can_set_attn_implementation()
    reason = ""
    for attention in (static_attention.NAME, own) if ours else (own,):
        if ours:
            module.set_attn_implementation(attention)
        try:
            model = CapturedModel(module, eager.facts, calling, shapes, recorder)
            return _checked(model, logits, _passing(on_fraction))
        except _Left as left:
            raise left.reason from None
        except Exception as error:  # whatever a family does inside its forward
            logger.info("steps are not recorded with %s", attention, exc_info=True)
            reason = _reason(error)
    eager.note = (
        f"The steps of {eager.facts.name} could not be recorded as CUDA graphs "
        f"({reason}); they run kernel by kernel, which is slower."
    )
    return eager


class _Left(BaseException):
    """Whoever listens wants the load to end: no fault of the recording."""

    def __init__(self, reason: Exception) -> None:
        super().__init__(reason)
        self.reason = reason


def _passing(on_fraction: OnFraction) -> OnFraction:
    def told(fraction: float) -> None:
        try:
            on_fraction(fraction)
        except Exception as error:
            raise _Left(error) from error

    return told


def _checked(
    model: CapturedModel, logits: Tensor, on_fraction: OnFraction
) -> CapturedModel:
    """Record a slot and hold a replay against the plain path's ``logits``."""
    facts = model.facts
    model.prepare(on_fraction)
    ids = checks.sample_ids(facts.vocabulary_size)
    tolerance = checks.TOLERANCE if facts.dtype == "float32" else LOOSE
    if not checks.agree(checks.together(model, ids), logits, tolerance):
        raise ArithmeticError("a replay gave other scores than the plain path")
    model.note = RECORDED
    return model


def _reason(error: Exception) -> str:
    first = str(error).strip().splitlines()
    return first[0].rstrip(".") if first else type(error).__name__
