"""A folder of twenty checkpoints: eleven families that decode, and every way not to.

Written by ``python -m tests.core.checkpoints.twenty FOLDER`` to look at in the window.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import torch

from tests.core.checkpoints.tiny_checkpoints import (
    byte_tokens,
    edit_config,
    make_gguf,
    make_tokenizer,
)

ROWS = 260
_SHARED = {"vocab_size": ROWS, "bos_token_id": None, "eos_token_id": 0}
_WIDE = {**_SHARED, "hidden_size": 32, "num_hidden_layers": 2}
_HEADS = {"num_attention_heads": 4, "max_position_embeddings": 256}
_USUAL = {**_WIDE, **_HEADS, "intermediate_size": 48, "num_key_value_heads": 2}
_GEMMA = {**_USUAL, "head_dim": 8, "sliding_window": 16, "query_pre_attn_scalar": 8}

# The folder of each family that decodes, its config class and what it is made of.
DECODES: dict[str, tuple[str, dict[str, object]]] = {
    "llama": ("LlamaConfig", {**_USUAL, "num_hidden_layers": 4}),
    "qwen2": ("Qwen2Config", _USUAL),
    "qwen3": ("Qwen3Config", {**_USUAL, "head_dim": 16}),
    "mistral": ("MistralConfig", {**_USUAL, "sliding_window": 16}),
    "gemma2": ("Gemma2Config", _GEMMA),
    "gemma3": (
        "Gemma3TextConfig",
        {**_GEMMA, "layer_types": ["sliding_attention", "full_attention"]},
    ),
    "phi3": ("Phi3Config", {**_USUAL, "pad_token_id": 0}),
    "gpt2": (
        "GPT2Config",
        {**_SHARED, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 256},
    ),
    "gpt-neox": ("GPTNeoXConfig", {**_WIDE, **_HEADS, "intermediate_size": 48}),
    "opt-padded-rows": (
        "OPTConfig",
        {**_WIDE, **_HEADS, "vocab_size": 320, "ffn_dim": 48, "word_embed_proj_dim": 32,
         "pad_token_id": 0},
    ),
}  # fmt: skip
GGUF = {"llama-f32": "F32", "llama-q8": "Q8_0", "llama-q4": "Q4_1"}
TARGET = "llama"

PLAIN_ONLY = "mamba"  # decodes, but nothing can draft for it, nor it for others

# What else lies there, and words of the sentence that each is refused with.
REFUSED = {
    "truncated": ("model.safetensors", "cut short"),
    "pickle-only": ("pytorch_model.bin", "pickle"),
    "encoder-decoder": ("t5", "decoder-only"),
    "vision": ("pictures", "text-only"),
    "empty-config": ("config.json", "empty"),
}
STRANGER = "other-tokens"  # a llama of equal size whose ids mean something else
NAMES = {*DECODES, *GGUF, PLAIN_ONLY, *REFUSED, STRANGER}


def make_twenty(folder: Path) -> Path:
    """Write the twenty to ``folder`` and return it."""
    for seed, (name, (config, settings)) in enumerate(DECODES.items()):
        _save(folder / name, config, settings, seed)
    for name, kind in GGUF.items():
        make_gguf(folder / f"{name}.gguf", kind=kind, context=256)
    _stranger(folder / STRANGER)
    for make in (_truncated, _pickle, _encoder_decoder, _mamba, _vision, _empty):
        make(folder)
    return folder


def _save(folder: Path, config: str, settings: dict[str, object], seed: int) -> None:
    import transformers

    made = getattr(transformers, config)(**settings)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        transformers.AutoModelForCausalLM.from_config(made).save_pretrained(folder)
    make_tokenizer(folder)
    (folder / "README.md").write_text("---\nlicense: apache-2.0\n---\n")


def _stranger(folder: Path) -> None:
    config, settings = DECODES[TARGET]
    _save(folder, config, settings, seed=99)
    first, *others = byte_tokens()
    make_tokenizer(folder, {t: i for i, t in enumerate([first, *reversed(others)])})


def _copy(folder: Path, name: str) -> Path:
    return Path(shutil.copytree(folder / TARGET, folder / name))


def _truncated(folder: Path) -> None:
    weights = _copy(folder, "truncated") / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])


def _pickle(folder: Path) -> None:
    copy = _copy(folder, "pickle-only")
    (copy / "model.safetensors").rename(copy / "pytorch_model.bin")


def _encoder_decoder(folder: Path) -> None:
    copy = _copy(folder, "encoder-decoder")
    edit_config(copy, model_type="t5", is_encoder_decoder=True)


def _mamba(folder: Path) -> None:
    _save(folder / PLAIN_ONLY, "MambaConfig", _WIDE, seed=0)


def _vision(folder: Path) -> None:
    copy = _copy(folder, "vision")
    edit_config(copy, model_type="llava", vision_config={"hidden_size": 32})


def _empty(folder: Path) -> None:
    (_copy(folder, "empty-config") / "config.json").write_text("")


if __name__ == "__main__":
    make_twenty(Path(sys.argv[1]))
