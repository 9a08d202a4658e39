"""From a loaded transformers module to a model that runners step over."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from transformers import PreTrainedModel

from core.errors import PlainOnlyError
from core.events import ModelFacts
from core.runtime import checks, support
from core.runtime.capturing import capture
from core.runtime.kv_cache import LayerShape, buffers
from core.runtime.runner import Model
from core.runtime.sliced_head import slice_head
from core.runtime.stateful_trial import wrap_stateful
from core.runtime.transformers_model import (
    Calling,
    TransformersModel,
    TransformersRunner,
)
from core.sampling import kernels as sampling_kernels

Progress = Callable[[str, float | None], None]


def wrap_model(
    hf_model: PreTrainedModel,
    *,
    name: str,
    reference: str,
    vocabulary_size: int,
    device: str | torch.device,
    dtype: str | torch.dtype,
    head_ids: Sequence[int] | None = None,
    progress: Progress = lambda stage, fraction: None,
) -> Model:
    """Return a model over loaded weights, on the fastest path that is right for it.

    Args:
        hf_model: a causal LM in eval mode with its weights on ``device``; it belongs to
            the returned model from then on.
        name: short name for people.
        reference: what was asked for.
        vocabulary_size: ids that the tokenizer knows; logits end there.
        device: where the weights are.
        dtype: of the weights.
        head_ids: cut the head to these, rising; logit i is then that of head_ids[i].
        progress: told the stage and how far it is, 0 to 1 or None.

    Returns:
        The model; a ``StatefulModel`` where its state cannot be rewound.

    Raises:
        UnsupportedModelError: if it cannot be decoded here.
    """
    facts = _facts(hf_model, name, reference, vocabulary_size, str(device), str(dtype))
    try:
        return _rewindable(hf_model, facts, head_ids, progress)
    except PlainOnlyError as error:
        kind = str(error.facts["layer_type"])
    progress("Checking the model", None)
    return wrap_stateful(hf_model, facts, kind)


def _rewindable(
    hf_model: PreTrainedModel,
    facts: ModelFacts,
    head_ids: Sequence[int] | None,
    progress: Progress,
) -> Model:
    """Return a model that can be rewound.

    Raises:
        PlainOnlyError: naming the layers that cannot.
        UnsupportedModelError: if it cannot be decoded here.
    """
    vocabulary_size = facts.vocabulary_size
    sliding = tuple(support.cache_layers(hf_model))
    calling = Calling(
        cache_argument=support.cache_argument(hf_model),
        keeps_last_logits=support.keeps_last_logits(hf_model),
        sliding=sliding,
        head_rows=vocabulary_size,
    )
    if head_ids is not None:
        slice_head(hf_model, head_ids)
        facts = dataclasses.replace(facts, memory_bytes=_memory_bytes(hf_model))
    progress("Checking the model", None)
    ids = checks.sample_ids(vocabulary_size)
    shapes, logits = _probe(hf_model, calling, ids)
    eager = TransformersModel(hf_model, facts, calling, shapes)
    model: Model = eager
    if _kernels_can_run(hf_model):
        progress("Preparing the kernels", None)
        sampling_kernels.prepare()
        model = _with_kernels(hf_model, facts, calling, shapes, logits)
    elif _is_on_cuda(facts):
        model = capture(
            hf_model,
            eager,
            calling,
            shapes,
            logits,
            lambda done: progress("Recording the steps", done),
        )
    if not checks.rewinds(model, ids, loose=facts.dtype != "float32"):
        raise support.refusal(hf_model, "stateful")
    return model


def _probe(
    module: PreTrainedModel, calling: Calling, ids: list[int]
) -> tuple[list[LayerShape | None], Tensor]:
    """Step once; return what each layer wrote into the cache, and the logits."""
    cache = buffers(len(ids), calling.sliding)
    logits = TransformersRunner(module, calling, cache, len(ids)).step(ids)
    shapes = cache.shapes()
    if not any(shapes):
        raise support.unsteppable(module, "they write no cache")
    return shapes, logits


def _is_on_cuda(facts: ModelFacts) -> bool:
    return facts.device.startswith("cuda")


def _kernels_can_run(module: PreTrainedModel) -> bool:
    plain = all(
        p.dtype == torch.float32 and p.device.type == "cpu" for p in module.parameters()
    )
    try:
        import core.runtime.kernels  # noqa: F401
    except ImportError:  # Numba is not made for every system
        return False
    return plain


def _with_kernels(
    module: PreTrainedModel,
    facts: ModelFacts,
    calling: Calling,
    shapes: list[LayerShape | None],
    logits: Tensor,
) -> Model:
    """Return the model on its fastest path."""
    # Imported late: these need Numba, and the last one compiles.
    from core.runtime import decoder_weights
    from core.runtime.decoder_model import DecoderModel

    ids = checks.sample_ids(facts.vocabulary_size)
    if decoder_weights.fits(module):
        invariant = dataclasses.replace(facts, row_invariant=True)
        model = DecoderModel(module, invariant, calling)
        if checks.agree(checks.together(model, ids), logits):
            return model
    from core.runtime.accelerated import accelerate

    return accelerate(module, facts, calling, shapes, logits)


def _facts(
    module: PreTrainedModel,
    name: str,
    reference: str,
    vocabulary_size: int,
    device: str,
    dtype: str,
) -> ModelFacts:
    config = module.config.get_text_config(decoder=True)
    parameters = list(module.parameters())  # tied weights are listed once
    return ModelFacts(
        name=name,
        reference=reference,
        num_parameters=sum(p.numel() for p in parameters),
        num_layers=config.num_hidden_layers,
        vocabulary_size=vocabulary_size,
        context_length=_context_length(config),
        device=device,
        dtype=dtype.removeprefix("torch."),
        memory_bytes=_memory_bytes(module),
        row_invariant=False,
    )


def _memory_bytes(module: PreTrainedModel) -> int:
    return sum(p.numel() * p.element_size() for p in module.parameters())


def _context_length(config: object) -> int:
    for key in ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length"):
        value = getattr(config, key, None)
        if isinstance(value, int) and value > 0:
            return value
    return 2**20  # no limit is written down, so positions are relative
