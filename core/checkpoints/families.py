"""Which families of models this runtime can decode, judged from names in headers."""

from __future__ import annotations

import ast
import functools
import importlib.util
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from core.errors import UnsupportedModelError


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Their state cannot be taken back when a proposal is refused: plain decoding only.
_RECURRENT = _words(
    "bailing_hybrid bamba falcon_h1 falcon_mamba jamba kimi_linear lfm2 lfm2_moe lfm3 "
    "mamba mamba2 minimax nemotron_h olmo_hybrid qwen3_5 qwen3_5_moe qwen3_5_moe_text "
    "qwen3_5_text qwen3_next qwen35 qwen35moe recurrent_gemma rwkv rwkv6 rwkv7 xlstm "
    "zamba zamba2 zaya plamo2 arwkv7 nemotron_h_moe"
)
_ENCODER_DECODER = _words(
    "bart blenderbot blenderbot-small fsmt led longt5 m2m_100 marian mbart mt5 mvp "
    "nllb-moe pegasus pegasus_x plbart prophetnet speech_to_text t5 t5encoder t5gemma "
    "switch_transformers umt5 whisper"
)
_STATEFUL_WORDS = (
    *("linear", "conv", "mamba", "recurrent", "ssm", "rwkv", "delta", "lightning"),
    *("lstm", "hybrid"),
)
_RECURRENT_KIND = "recurrent"
_GGUF_SPELLING = {"qwen2moe": "qwen2_moe", "qwen3moe": "qwen3_moe"}
_CAUSAL = ("CausalLM", "LMHeadModel", "DoubleHeadsModel")


def check_config(name: str, config: dict[str, Any]) -> None:
    """Check that a ``config.json`` is of a model that can be decoded here.

    Raises:
        UnsupportedModelError: naming the family and what stands against it.
    """
    family = str(config.get("model_type") or "")
    if config.get("is_encoder_decoder") or family in _ENCODER_DECODER:
        raise _encoder_decoder(name, family)
    native = causal_families()
    if config.get("auto_map") and family not in native:
        raise UnsupportedModelError(
            f"The checkpoint {name} brings its own code ({family or 'no model type'}), "
            "which Draftrace never runs; choose one that transformers has built in.",
            family=family,
        )
    _check_task(name, family, config)
    if family not in native:
        raise UnsupportedModelError(
            f"The checkpoint {name} has the architecture {family or 'without a name'}, "
            "which the installed transformers does not know as a text generator; "
            "update transformers or choose another model.",
            family=family,
        )


def check_gguf(name: str, architecture: str) -> None:
    """Check that a GGUF architecture can be read and decoded here.

    Raises:
        UnsupportedModelError: naming the architecture.
    """
    family = _spelled(architecture)
    if family in _ENCODER_DECODER:
        raise _encoder_decoder(name, family)
    if family not in gguf_families():
        raise UnsupportedModelError(
            f"The file {name} has the GGUF architecture {architecture or '(none)'}, "
            "which the installed transformers cannot read; use the safetensors version "
            "of the model.",
            family=architecture,
        )


def unrewindable_layers(config: dict[str, Any]) -> str:
    """Return the first kind of layer of a config that cannot be rewound, or ""."""
    family, text = str(config.get("model_type") or ""), config.get("text_config")
    kinds = layer_kinds(config) or layer_kinds(text if isinstance(text, dict) else {})
    for kind in kinds:
        if any(word in kind.lower() for word in _STATEFUL_WORDS):
            return kind
    return _RECURRENT_KIND if not kinds and family in _RECURRENT else ""


def unrewindable_gguf(architecture: str) -> str:
    """Return what :func:`unrewindable_layers` does, of a GGUF architecture."""
    return _RECURRENT_KIND if _spelled(architecture) in _RECURRENT else ""


def layer_kinds(config: dict[str, Any]) -> tuple[str, ...]:
    """Return the kinds of layers that a config lists, empty if it lists none."""
    for key in ("layer_types", "layers_block_type", "block_types", "_block_types"):
        kinds = config.get(key)
        if isinstance(kinds, list) and kinds:
            return tuple(str(kind) for kind in kinds)
    return ()


@functools.cache
def causal_families() -> frozenset[str]:
    """Return the model types that the installed transformers can generate text with.

    Read from its source: importing its tables would import torch.
    """
    names = _table("models/auto/modeling_auto.py", "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES")
    if names:
        return names
    from transformers.models.auto import modeling_auto  # a frozen program has no source

    return frozenset(modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)


@functools.cache
def gguf_families() -> frozenset[str]:
    """Return the architectures that the installed transformers reads from GGUF."""
    names = _table("integrations/ggml.py", "GGUF_CONFIG_MAPPING")
    if not names:
        from transformers.integrations.ggml import GGUF_CONFIG_MAPPING

        names = frozenset(GGUF_CONFIG_MAPPING)
    return names - {"general", "tokenizer"}


def _spelled(architecture: str) -> str:
    """Return a GGUF architecture as transformers spells the family."""
    family = architecture.replace("-", "_")
    return _GGUF_SPELLING.get(family, family)


def _check_task(name: str, family: str, config: dict[str, Any]) -> None:
    """Refuse models of pictures, sound and embeddings."""
    if "vision_config" in config or "audio_config" in config:
        raise UnsupportedModelError(
            f"The checkpoint {name} ({family}) also reads pictures or sound, which "
            "Draftrace does not; choose a text-only version of the model.",
            family=family,
        )
    classes = config.get("architectures") or ()
    if classes and not _any_causal(classes):
        raise UnsupportedModelError(
            f"The checkpoint {name} is a {classes[0]}, which does not generate text; "
            "choose a model whose class ends with ForCausalLM.",
            family=family,
        )


def _any_causal(classes: Iterable[Any]) -> bool:
    return any(word in str(found) for found in classes for word in _CAUSAL)


def _table(source: str, name: str) -> frozenset[str]:
    """Return the keys of a literal table in the source of transformers."""
    spec = importlib.util.find_spec("transformers")
    if spec is None or not spec.origin:
        return frozenset()
    try:
        module = ast.parse((Path(spec.origin).parent / source).read_text("utf-8"))
    except (OSError, SyntaxError, ValueError):
        return frozenset()
    tables = (n for n in module.body if isinstance(n, ast.Assign))
    return next((_keys(n.value) for n in tables if _assigns(n, name)), frozenset())


def _assigns(node: ast.Assign, name: str) -> bool:
    return any(isinstance(t, ast.Name) and t.id == name for t in node.targets)


def _keys(value: ast.expr) -> frozenset[str]:
    """Return the string keys of ``{...}`` or ``OrderedDict([...])``."""
    if isinstance(value, ast.Dict):
        found: Iterable[Any] = value.keys
    elif isinstance(value, ast.Call) and value.args:
        pairs = getattr(value.args[0], "elts", ())
        found = (pair.elts[0] for pair in pairs if isinstance(pair, ast.Tuple))
    else:
        return frozenset()
    return frozenset(str(k.value) for k in found if isinstance(k, ast.Constant))


def _encoder_decoder(name: str, family: str) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"The checkpoint {name} is an encoder-decoder model ({family}), which has no "
        "single text to continue; choose a decoder-only model.",
        family=family,
    )
