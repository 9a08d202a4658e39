"""Reading a GGUF file into transformers, and writing it as an ordinary checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from core.checkpoints.progress import Work
from core.checkpoints.quiet import quiet

# Vocabularies whose merges were learned on text cut into single digits first. llama.cpp
# names them in tokenizer.ggml.pre; transformers cuts as GPT-2 does, which turns spaces
# before a digit into other tokens than the model was trained on.
_SINGLE_DIGITS = frozenset({"smollm", "starcoder", "refact", "command-r", "codeshell"})


def read_gguf_tokenizer(file: Path, pre: str) -> Any:
    """Return the tokenizer of a GGUF file.

    Args:
        file: the GGUF file.
        pre: its ``tokenizer.ggml.pre``, or an empty string.
    """
    from tokenizers import pre_tokenizers
    from transformers import AutoTokenizer

    with quiet():
        tokenizer = AutoTokenizer.from_pretrained(
            str(file.parent),
            gguf_file=file.name,
            trust_remote_code=False,
            local_files_only=True,
        )
    if pre in _SINGLE_DIGITS:
        tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Digits(individual_digits=True),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
            ]
        )
    return tokenizer


def read_gguf_model(file: Path, dtype: Any, **options: Any) -> Any:
    """Return the transformers model of a GGUF file, dequantised to ``dtype``."""
    from transformers import AutoModelForCausalLM

    with quiet():
        model = AutoModelForCausalLM.from_pretrained(
            str(file.parent),
            gguf_file=file.name,
            dtype=dtype,
            trust_remote_code=False,
            local_files_only=True,
            **options,
        )
    _forget_quantization(model)
    return model


def write_checkpoint(model: Any, tokenizer: Any, folder: Path) -> None:
    """Save model and tokenizer as an ordinary folder of safetensors."""
    _tidy(model, tokenizer, folder.name)
    with quiet():
        model.save_pretrained(folder, max_shard_size="4GB")
        tokenizer.save_pretrained(folder)


def convert_gguf(file: Path, pre: str, folder: Path, work: Work) -> None:
    """Convert a GGUF file to a folder of float32 safetensors.

    float32 holds every dequantised weight (float16 scale times small integer plus
    float16 offset) without a second rounding.
    """
    import torch

    stage = "Converting the model (once, about half a minute)"
    work.report(stage, 0.0, "tokenizer")
    tokenizer = read_gguf_tokenizer(file, pre)
    work.report(stage, 0.2, "weights")
    model = read_gguf_model(file, torch.float32)
    work.report(stage, 0.9, "writing")
    write_checkpoint(model, tokenizer, folder)
    work.report(stage, 1.0)


def _tidy(model: Any, tokenizer: Any, name: str) -> None:
    """Remove what only the GGUF file's reading left behind."""
    # The folder it was read from may be temporary and is nobody's business.
    model.config._name_or_path = tokenizer.name_or_path = name
    vars(model.config).pop("_model_name_or_path", None)
    tokenizer.model_max_length = model.config.max_position_embeddings
    for key in ("is_local", "local_files_only", "gguf_file"):
        tokenizer.init_kwargs.pop(key, None)


def _forget_quantization(model: Any) -> None:
    # The weights are plain floats now, but the file's quantization stays noted and
    # save_pretrained refuses because of it.
    for owner, name in (
        (model.config, "quantization_config"),
        (model, "hf_quantizer"),
        (model, "quantization_method"),
    ):
        if name in vars(owner):
            delattr(owner, name)
    model.is_quantized = False
