"""Reading a tokenizer and weights with transformers, silently and from files only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from core.checkpoints.conversion import read_gguf_model, read_gguf_tokenizer
from core.checkpoints.devices import EIGHT_BITS, Placement
from core.checkpoints.facts import CheckpointFacts
from core.checkpoints.gguf_header import read_gguf_header
from core.checkpoints.quiet import quiet
from core.errors import ConfigurationError


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
    options = loading_options(placement)
    if path.is_file():
        _require_plain(facts, placement)
        model = read_gguf_model(path, placement.torch_dtype, **options)
    else:
        model = _read_folder(path, placement, options)
    model.eval()
    model.requires_grad_(False)
    return model


def loading_options(placement: Placement) -> dict[str, Any]:
    """Return what transformers is told beside the dtype.

    Several GPUs and eight bits are accelerate's and bitsandbytes' work; both untested.
    """
    options: dict[str, Any] = {}
    if placement.spread:
        options["device_map"] = "auto"
    elif placement.device != "cpu":  # straight to the device, without a copy in memory
        options["device_map"] = {"": placement.device}
    if placement.dtype == EIGHT_BITS:
        from transformers import BitsAndBytesConfig

        options["quantization_config"] = BitsAndBytesConfig(load_in_8bit=True)
    return options


def _require_plain(facts: CheckpointFacts, placement: Placement) -> None:
    if placement.dtype == EIGHT_BITS:
        raise ConfigurationError(
            f"The file {facts.name} is unpacked when it is read, so that {EIGHT_BITS} "
            "cannot be had from it; choose bfloat16 or a safetensors folder.",
            setting="dtype",
            value=EIGHT_BITS,
        )


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
