"""The target as a source of texts: its module, tokenizer and prompts."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear

from core.checkpoints.devices import Placement, free_bytes, place
from core.checkpoints.end_tokens import eos_ids_of
from core.checkpoints.facts import CheckpointFacts
from core.checkpoints.failures import translated
from core.checkpoints.memory import require_room
from core.checkpoints.weights import read_tokenizer, read_weights
from core.config import ModelConfig
from core.distillation.batch_cache import ATTENTION
from core.errors import UnsupportedModelError
from core.runtime import threads

_TRIES = 5


@dataclass(frozen=True, slots=True)
class Source:
    """A target that writes texts.

    Attributes:
        facts: what the checkpoint is.
        module: of transformers, with the attention that collecting needs.
        tokenizer: of transformers.
        eos_ids: that end a text.
        vocabulary_size: ids that may be proposed.
    """

    facts: CheckpointFacts
    module: Any
    tokenizer: Any
    eos_ids: tuple[int, ...]
    vocabulary_size: int

    def embeddings(self) -> Tensor:
        """Return [V, width] embeddings in float32 on the CPU."""
        return self.module.get_input_embeddings().weight.detach().float().cpu()

    @property
    def config(self) -> Any:
        """The text decoder's configuration."""
        return self.module.config.get_text_config(decoder=True)


def read_source(facts: CheckpointFacts, config: ModelConfig) -> Source:
    """Load the target so that it can write many texts at a time.

    Raises:
        ModelLoadError: if it cannot be read.
        DeviceMemoryError: if it does not fit.
        UnsupportedModelError: if its texts cannot be collected.
    """
    device = place(config).device
    placement = Placement(device, _dtype(config, device))
    require_room(facts, placement.dtype, device, free_bytes(device))
    with translated(facts, placement):
        tokenizer = read_tokenizer(facts)
        module = read_weights(facts, placement)
    _require_parts(module, facts)
    module.set_attn_implementation(ATTENTION)
    rows = module.get_output_embeddings().weight.shape[0]
    vocabulary = min(facts.tokenizer_size, rows)
    ends = eos_ids_of(module, tokenizer, vocabulary)
    return Source(facts, module, tokenizer, ends, vocabulary)


def _dtype(config: ModelConfig, device: str) -> str:
    if config.dtype != "auto" or device != "cpu":
        return place(config).dtype
    return "bfloat16" if _bfloat16_is_faster() else "float32"


def _bfloat16_is_faster() -> bool:
    """Try: some CPUs have units for it, others imitate it slowly."""
    threads.torch_on_all_cores()
    return _product_s(torch.bfloat16) < _product_s(torch.float32)


def _product_s(dtype: torch.dtype) -> float:
    x, w = torch.ones(64, 576, dtype=dtype), torch.ones(1536, 576, dtype=dtype)
    times = []
    for _ in range(_TRIES):
        begin = time.perf_counter()
        linear(x, w)
        times.append(time.perf_counter() - begin)
    return min(times)


def _require_parts(module: Any, facts: CheckpointFacts) -> None:
    parts = all(hasattr(module, name) for name in ("model", "lm_head"))
    if not parts or not module._can_set_attn_implementation():
        raise UnsupportedModelError(
            f"The target {facts.name} is a {facts.architecture} model, whose texts "
            "cannot be collected; choose a Llama-like target.",
            architecture=facts.architecture,
        )
