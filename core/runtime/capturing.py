"""Recording a model's steps when it is loaded, checked against the plain path."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from torch import Tensor
from transformers import PreTrainedModel

from core.errors import DeviceMemoryError
from core.runtime import checks, static_attention
from core.runtime.captured_graphs import Recorder
from core.runtime.captured_model import (
    CapturedModel,
    NotRecordedError,
    is_memory_error,
)
from core.runtime.kv_cache import LayerShape
from core.runtime.runner import Model
from core.runtime.slot import WIDTHS, OnFraction
from core.runtime.transformers_model import MAX_ROWS, Calling, TransformersModel

RECORDED = (
    "Steps run as captured CUDA graphs, untested on a GPU so far; at load they gave "
    "the plain path's scores."
)
LOOSE = 0.05  # of the largest logit: what a narrow dtype may round
_PROMPT = MAX_ROWS + 1  # ids: more than one step takes
_TRIED = _PROMPT + 1  # tokens of a trial

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
    """Record a slot and hold each width against the plain path's ``logits``."""
    facts = model.facts
    model.prepare(on_fraction)
    ids = checks.sample_ids(facts.vocabulary_size)
    tolerance = checks.TOLERANCE if facts.dtype == "float32" else LOOSE
    for width in WIDTHS:
        rows = _replayed(model, ids, width)
        if not checks.agree(rows, logits[: len(rows)], tolerance):
            raise NotRecordedError("a replay gave other scores than the plain path")
    if not _reads_as_it_steps(model, ids, tolerance):
        raise NotRecordedError("a prompt that was read gave other scores than steps")
    model.note = RECORDED
    return model


def _replayed(model: CapturedModel, ids: list[int], width: int) -> Tensor:
    """Return the first rows of a step so wide, no more than there are ids: [n, V].

    What follows ``ids`` in the step is nothing to them. A step over other ids comes
    last, so that a replay that does nothing cannot return what lies there already.
    """
    many = ids * (width // len(ids) + 1)
    runner = model.new_runner(_TRIED)
    rows = runner.step(many[:width])[: len(ids)].clone()
    runner.truncate(0)
    runner.step(many[1 : width + 1])
    return rows


def _reads_as_it_steps(model: CapturedModel, ids: list[int], tolerance: float) -> bool:
    """Return whether a read prompt gives the next token the scores that steps give."""
    prompt = (ids * 4)[:_PROMPT]
    runner = model.new_runner(_TRIED)
    runner.prefill(prompt)
    read = runner.step(ids[:1]).clone()
    runner.truncate(0)
    runner.step(prompt[:-1])
    runner.step(prompt[-1:])
    return checks.agree(read, runner.step(ids[:1]), tolerance)


def _reason(error: Exception) -> str:
    """Return why nothing was recorded; what a library said is in the log."""
    if isinstance(error, NotRecordedError):
        return str(error)
    if isinstance(error, DeviceMemoryError) or is_memory_error(error):
        return "the device has too little memory free"
    return "this family cannot be recorded"
