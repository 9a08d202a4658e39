"""The toys of ``toys`` with recorded steps of fixed width."""

from __future__ import annotations

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from core.events import ModelFacts
from core.runtime import static_attention, support
from core.runtime.captured_model import CapturedModel
from core.runtime.kv_cache import buffers
from core.runtime.transformers_model import Calling, TransformersRunner


def captured_toy(seed: int = 0, rows: int = 32) -> CapturedModel:
    """Return the Llama of ``toys.toy(rows, seed)``."""
    config = LlamaConfig(
        vocab_size=rows,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2 - seed % 2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=512,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        module = LlamaForCausalLM(config).eval()
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.dim() > 1:
                parameter.mul_(8.0)
    facts = ModelFacts(
        f"toy {seed}", "toy", 1, 1, rows, 512, "cpu", "float32", 4, False
    )
    calling = Calling(
        support.cache_argument(module), True, tuple(support.cache_layers(module)), rows
    )
    cache = buffers(2, calling.sliding)
    TransformersRunner(module, calling, cache, 2).step([0, 1])
    module.set_attn_implementation(static_attention.NAME)
    return CapturedModel(module, facts, calling, cache.shapes(), smallest=64)
