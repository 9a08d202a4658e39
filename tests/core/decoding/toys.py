"""Tiny random transformers models as pairs, for the tries of BUGS.md."""

from __future__ import annotations

import functools

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from core.runtime.models import wrap_model
from core.runtime.runner import Model


@functools.cache
def toy(
    rows: int = 32, seed: int = 0, *, positions: int = 512, known: int = 0
) -> Model:
    """Return a tiny Llama with ``rows`` rows of logits, ``known`` of them tokens."""
    config = LlamaConfig(
        vocab_size=rows,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2 - seed % 2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=positions,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = LlamaForCausalLM(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(8.0)
    return wrap_model(
        model,
        name=f"toy {seed}",
        reference="toy",
        vocabulary_size=known or rows,
        device="cpu",
        dtype=torch.float32,
    )
