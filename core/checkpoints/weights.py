"""Reading a tokenizer and weights with transformers, silently and from files only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from core.checkpoints.conversion import read_gguf_model, read_gguf_tokenizer
from core.checkpoints.devices import Placement
from core.checkpoints.facts import CheckpointFacts
from core.checkpoints.gguf_header import read_gguf_header
from core.checkpoints.quiet import quiet


def read_tokenizer(facts: CheckpointFacts) -> Any:
    """Return the tokenizer of a checkpoint."""
    path = Path(facts.tokenizer_path or facts.path)
    if path.is_file():
        pre = read_gguf_header(path).metadata.get("tokenizer.ggml.pre", "")
        return read_gguf_tokenizer(path, pre)
    from transformers import AutoTokenizer

    with quiet():
        return AutoTokenizer.from_pretrained(
            str(path), trust_remote_code=False, local_files_only=True
        )


def read_weights(facts: CheckpointFacts, placement: Placement) -> Any:
    """Return the transformers model with its weights on the device, ready to decode."""
    path = Path(facts.path)
    options: dict[str, Any] = {}
    if placement.device != "cpu":  # straight to the device, without a copy in memory
        options["device_map"] = {"": placement.device}
    if path.is_file():
        model = read_gguf_model(path, placement.torch_dtype, **options)
    else:
        model = _read_folder(path, placement, options)
    model.eval()
    model.requires_grad_(False)
    return model


def _read_folder(path: Path, placement: Placement, options: dict[str, Any]) -> Any:
    from transformers import AutoModelForCausalLM

    with quiet():
        return AutoModelForCausalLM.from_pretrained(
            str(path),
            dtype=placement.torch_dtype,
            use_safetensors=True,
            trust_remote_code=False,
            local_files_only=True,
            **options,
        )
