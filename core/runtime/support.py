"""Which models can be rewound, and which decode plainly or not at all, by name."""

from __future__ import annotations

import inspect

from transformers import PreTrainedConfig, PreTrainedModel
from transformers.cache_utils import (
    DynamicCache,
    DynamicLayer,
    DynamicSlidingWindowLayer,
)

from core.errors import PlainOnlyError, UnsupportedModelError

_REWINDABLE = (DynamicLayer, DynamicSlidingWindowLayer)


def cache_layers(model: PreTrainedModel) -> list[bool | None]:
    """Return, per layer, whether it slides; None for a layer without a cache.

    Raises:
        PlainOnlyError: names the kind of layer that cannot be rewound.
        UnsupportedModelError: if it cannot be decoded at all.
    """
    config = model.config.get_text_config(decoder=True)
    if getattr(model.config, "is_encoder_decoder", False):
        raise unsteppable(model, "an encoder-decoder has no single text to continue")
    if getattr(model, "_is_stateful", False):
        raise refusal(model, _first_recurrent(config))
    try:
        layers = DynamicCache(config=config).layers
    except (KeyError, AttributeError, TypeError) as error:
        raise refusal(model, str(error).strip("'")) from error
    return [_slides(model, config, i, layer) for i, layer in enumerate(layers)]


def _slides(
    model: PreTrainedModel, config: PreTrainedConfig, index: int, layer
) -> bool | None:
    if type(layer).__name__ == "DummyLayer":  # unknown before transformers 5.18
        return None
    if type(layer) not in _REWINDABLE:
        kinds = getattr(config, "layer_types", None) or [type(layer).__name__]
        raise refusal(model, kinds[min(index, len(kinds) - 1)])
    return bool(layer.is_sliding)


def _first_recurrent(config: PreTrainedConfig) -> str:
    """Return the first kind of layer that is not one of ours."""
    kinds = getattr(config, "layer_types", None) or []
    attention = ("full_attention", "sliding_attention")
    return next((kind for kind in kinds if kind not in attention), "recurrent")


def refusal(model: PreTrainedModel, kind: str) -> PlainOnlyError:
    """Return the error that says that layers of ``kind`` cannot be rewound."""
    return PlainOnlyError(
        f"{_family(model)} models have {kind} layers, whose state cannot be rewound "
        "when a proposal is refused; choose a model with attention layers only.",
        layer_type=kind,
        family=_family(model),
    )


def unsteppable(model: PreTrainedModel, why: str) -> UnsupportedModelError:
    """Return the error that says why a model cannot be decoded at all."""
    return UnsupportedModelError(
        f"{_family(model)} models cannot be decoded here: {why}; choose another model.",
        family=_family(model),
    )


def _family(model: PreTrainedModel) -> str:
    return getattr(model.config, "model_type", type(model).__name__)


def cache_argument(model: PreTrainedModel) -> str:
    """Return the name under which ``forward`` takes its cache.

    ``cache`` since transformers 5.24; the older name warns there and goes in 5.40.
    """
    names = inspect.signature(model.forward).parameters
    for name in ("cache", "past_key_values"):
        if name in names:
            return name
    raise unsteppable(model, "they take no cache")


def keeps_last_logits(model: PreTrainedModel) -> bool:
    """Return whether ``forward`` can leave out the logits of all rows but the last."""
    return "logits_to_keep" in inspect.signature(model.forward).parameters
