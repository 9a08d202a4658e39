"""Tiny random models of the families that the runners must step correctly."""

from __future__ import annotations

import copy

import torch
from transformers import (
    AutoModelForCausalLM,
    Gemma2Config,
    Gemma3TextConfig,
    GPT2Config,
    GPTNeoXConfig,
    LlamaConfig,
    MistralConfig,
    OPTConfig,
    Phi3Config,
    Qwen2Config,
    Qwen3Config,
)

VOCABULARY = 96
_COMMON = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
_PLAIN = {k: v for k, v in _COMMON.items() if k != "num_key_value_heads"}

CONFIGS = {
    "llama": lambda: LlamaConfig(**_COMMON, tie_word_embeddings=True),
    "qwen2": lambda: Qwen2Config(**_COMMON),
    "qwen3": lambda: Qwen3Config(**_COMMON, head_dim=32),
    "mistral": lambda: MistralConfig(**_COMMON, sliding_window=16),
    "gemma2": lambda: Gemma2Config(
        **_COMMON, head_dim=16, sliding_window=16, query_pre_attn_scalar=16
    ),
    "gemma3": lambda: Gemma3TextConfig(
        **_COMMON,
        head_dim=16,
        sliding_window=16,
        layer_types=["sliding_attention", "full_attention"],
    ),
    "phi3": lambda: Phi3Config(**_COMMON),
    "gpt2": lambda: GPT2Config(
        vocab_size=VOCABULARY, n_embd=64, n_layer=2, n_head=4, n_positions=512
    ),
    "opt": lambda: OPTConfig(
        **{k: v for k, v in _PLAIN.items() if k != "intermediate_size"},
        ffn_dim=96,
        word_embed_proj_dim=64,
    ),
    "gpt_neox": lambda: GPTNeoXConfig(**_PLAIN),
}
LEAN = ("llama", "qwen2", "qwen3", "mistral")


def tiny(family: str, seed: int = 0, **changes: object):
    """Return a random causal LM of ``family`` in float32."""
    config = CONFIGS[family]()
    for key, value in changes.items():
        setattr(config, key, value)
    torch.manual_seed(seed)
    # Older releases of transformers drop Gemma-2's cap on the scores under SDPA.
    exact = {"attn_implementation": "eager"} if family == "gemma2" else {}
    model = AutoModelForCausalLM.from_config(config, **exact).eval()
    spread(model)
    return model


def spread(model) -> None:
    """Make the random weights large enough for logits that differ visibly."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(4.0)
            else:
                parameter.add_(torch.randn_like(parameter) * 0.1)


def reference_logits(model, ids: list[int]) -> torch.Tensor:
    """Return transformers' own [n, V] logits of ``ids``, without a cache."""
    with torch.inference_mode():
        return model(input_ids=torch.tensor([ids]), use_cache=False).logits[0].clone()


def copy_of(model):
    """Return a second model with the same weights."""
    return copy.deepcopy(model)
