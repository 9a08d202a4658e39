"""Which layers cannot be rewound is told by name; what cannot be stepped is refused."""

from __future__ import annotations

import pytest
from transformers import (
    AutoModelForCausalLM,
    Lfm2Config,
    MambaConfig,
    RecurrentGemmaConfig,
    RwkvConfig,
    T5Config,
    T5ForConditionalGeneration,
)

from core.errors import PlainOnlyError, UnsupportedModelError
from core.runtime.models import wrap_model
from core.runtime.support import cache_layers

_SMALL = {"vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 2}
_HEADS = {"num_attention_heads": 2, "num_key_value_heads": 2}
_SPECIAL = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


def refuse(module) -> UnsupportedModelError:
    with pytest.raises(UnsupportedModelError) as caught:
        wrap_model(
            module,
            name="m",
            reference="m",
            vocabulary_size=64,
            device="cpu",
            dtype="float32",
        )
    return caught.value


@pytest.mark.parametrize(
    ("config", "kind"),
    [
        (MambaConfig(**_SMALL, **_SPECIAL), "linear_attention"),
        (RwkvConfig(**_SMALL, **_SPECIAL), "recurrent"),
        (
            Lfm2Config(
                **_SMALL,
                **_HEADS,
                **_SPECIAL,
                intermediate_size=32,
                layer_types=["full_attention", "conv"],
            ),
            "conv",
        ),
        (
            RecurrentGemmaConfig(
                **_SMALL, **_SPECIAL, intermediate_size=64, num_attention_heads=2
            ),
            "recurrent",
        ),
    ],
)
def test_recurrent_layers_are_named(config, kind):
    """H9."""
    with pytest.raises(PlainOnlyError) as caught:
        cache_layers(AutoModelForCausalLM.from_config(config))
    error = caught.value
    # transformers before 5.18 tells no kinds apart in stateful models
    assert error.facts["layer_type"] in (kind, "recurrent", "linear_attention")
    assert config.model_type in error.sentence
    assert str(error.facts["layer_type"]) in error.sentence


def test_an_encoder_decoder_is_refused():
    config = T5Config(vocab_size=64, d_model=32, d_ff=32, num_layers=1, num_heads=2)
    error = refuse(T5ForConditionalGeneration(config).eval())
    assert not isinstance(error, PlainOnlyError)
    assert "encoder-decoder" in error.sentence
