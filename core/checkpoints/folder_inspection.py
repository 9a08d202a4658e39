"""What a checkpoint folder is, from its JSON files and safetensors headers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from core.checkpoints.draft_head import read_draft_head
from core.checkpoints.facts import CheckpointFacts, CheckpointKind
from core.checkpoints.families import check_config, unrewindable_layers
from core.checkpoints.names import label
from core.checkpoints.safetensors_header import (
    WeightFacts,
    read_weights,
    weight_files,
)
from core.checkpoints.vocabulary import read_json, tokenizer_size
from core.errors import ModelLoadError, UnsupportedModelError

_CONTEXT_KEYS = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length")
NO_LIMIT = 2**20  # no limit is written down, so positions are relative
# The output head first; where it is tied, only the embedding is stored.
_HEADS = (
    *("lm_head.weight", "embed_out.weight", "output_layer.weight"),
    *("embed_tokens.weight", "wte.weight", "word_embeddings.weight"),
)
_PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")


def inspect_folder(folder: Path, tokenizer: Path | None = None) -> CheckpointFacts:
    """Return what the checkpoint in ``folder`` is.

    Args:
        folder: config, weights, and as a rule the tokenizer.
        tokenizer: the folder of its tokenizer where that is another one.

    Raises:
        ModelLoadError: if something of it is missing, broken or cut short.
        UnsupportedModelError: if it is whole but cannot be decoded here.
    """
    config = _read_config(folder)
    check_config(label(folder), config)
    weights = read_weights(_weights(folder))
    text, known = text_config(config), tokenizer_size(tokenizer or folder)
    rows = _head_rows(weights) or _number(text, "vocab_size")
    return CheckpointFacts(
        kind=CheckpointKind.FOLDER,
        reference=str(folder),
        name=label(folder),
        path=str(folder),
        architecture=str(config.get("model_type", "")),
        num_parameters=weights.num_parameters,
        num_layers=_number(text, "num_hidden_layers", "n_layer", "n_layers"),
        hidden_size=_number(text, "hidden_size", "n_embd", "d_model"),
        vocabulary_size=rows,
        tokenizer_size=known,
        context_length=_number(text, *_CONTEXT_KEYS) or NO_LIMIT,
        dtype=weights.dtype,
        size_bytes=weights.size_bytes,
        cache_values_per_token=_cache_values(text),
        has_chat_template=_has_template(tokenizer or folder),
        licence=_licence(folder),
        quantization=_quantization(config),
        tokenizer_path=str(tokenizer or ""),
        plain_only=unrewindable_layers(config),
        draft_head_size=len(read_draft_head(folder, min(rows, known)) or ()),
    )


def text_config(config: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a config that describes the text decoder."""
    text = config.get("text_config")
    return {**config, **text} if isinstance(text, dict) else config


def _read_config(folder: Path) -> dict[str, Any]:
    file = folder / "config.json"
    if (folder / "adapter_config.json").is_file():
        raise UnsupportedModelError(
            f"The folder {label(folder)} holds an adapter, not a whole model; merge it "
            "into its base model and save that.",
            path=str(folder),
        )
    if not file.is_file():
        raise _without_config(folder)
    config = read_json(file)
    if not isinstance(config, dict) or not config:
        raise ModelLoadError(
            f"The file config.json of {label(folder)} says nothing; copy or download "
            "it again.",
            file="config.json",
        )
    return config


def _without_config(folder: Path) -> ModelLoadError:
    files = sorted(path.name for path in folder.glob("*.gguf"))
    if files:
        cure = f"choose the file {files[0]} in it instead"
    else:
        cure = "choose a folder that holds a transformers checkpoint"
    return ModelLoadError(
        f"The folder {label(folder)} has no config.json; {cure}.", path=str(folder)
    )


def _weights(folder: Path) -> list[Path]:
    files = weight_files(folder)
    if files:
        return files
    for pattern in _PICKLES:
        for pickle in sorted(folder.glob(pattern)):
            raise UnsupportedModelError(
                f"The checkpoint {label(folder)} has its weights only in "
                f"{pickle.name}, a pickle that can run code when it is read; convert "
                "it to safetensors.",
                file=pickle.name,
            )
    raise ModelLoadError(
        f"The checkpoint {label(folder)} has no model.safetensors; copy or download "
        "its weights.",
        path=str(folder),
    )


def _head_rows(weights: WeightFacts) -> int:
    """Return the rows of the output head, or of the embedding it is tied to."""
    for end in _HEADS:
        for name, shape in weights.shapes.items():
            if name.endswith(end) and len(shape) == 2:
                return shape[0]
    return 0


def _cache_values(text: dict[str, Any]) -> int:
    """Return how many numbers one token takes in the caches of all layers."""
    layers = _number(text, "num_hidden_layers", "n_layer", "n_layers")
    heads = _number(text, "num_attention_heads", "n_head", "n_heads")
    hidden = _number(text, "hidden_size", "n_embd", "d_model")
    rank = _number(text, "kv_lora_rank")
    if rank:  # latent attention; transformers caches the expanded heads
        width = _number(text, "qk_nope_head_dim") + _number(text, "qk_rope_head_dim")
        return layers * heads * (width + _number(text, "v_head_dim"))
    head_dim = _number(text, "head_dim") or (hidden // heads if heads else 0)
    one = 1 if text.get("multi_query") else 0
    kv_heads = one or _number(text, "num_key_value_heads", "num_kv_heads") or heads
    return 2 * layers * kv_heads * head_dim


def _number(config: dict[str, Any], *keys: str) -> int:
    for key in keys:
        value = config.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return 0


def _has_template(folder: Path) -> bool:
    if any((folder / f"chat_template.{end}").is_file() for end in ("jinja", "json")):
        return True
    config = folder / "tokenizer_config.json"
    return config.is_file() and bool(read_json(config).get("chat_template"))


def _licence(folder: Path) -> str:
    """Return the licence that the front matter of the model card names."""
    card = folder / "README.md"
    try:
        with card.open(encoding="utf-8", errors="replace") as file:
            start = file.read(8192)
    except OSError:
        return ""
    parts = re.split(r"(?m)^---\s*$", start, maxsplit=2)
    found = re.search(r"(?m)^license:\s*(\S.*)$", parts[1]) if len(parts) == 3 else None
    return found[1].strip().strip("\"'") if found else ""


def _quantization(config: dict[str, Any]) -> str:
    found = config.get("quantization_config")
    return str(found.get("quant_method", "unknown")) if isinstance(found, dict) else ""
