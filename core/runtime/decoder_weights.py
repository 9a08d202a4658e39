"""Which transformers modules the decoder kernel can step, and their weights for it.

The kernel reads the module's own memory: nothing is copied but vectors, and the module
stays usable for prompts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from core.runtime.kernels.decoder import Weights
from core.runtime.kernels.vector import LANES

_FAMILIES = ("llama", "mistral", "qwen2", "qwen3")
_ROPES = ("default", "linear", "llama3", "yarn")  # tables that do not depend on length


def fits(module: Any) -> bool:
    """Return whether the decoder kernel computes exactly what ``module`` does."""
    config = module.config
    if getattr(config, "model_type", "") not in _FAMILIES:
        return False
    return (
        getattr(config, "hidden_act", "") == "silu"
        and getattr(config, "pretraining_tp", 1) == 1
        and module.model.rotary_emb.rope_type in _ROPES
        and getattr(module.lm_head, "bias", None) is None
        and all(_plain(p) for p in module.parameters())
        and all(_layer_fits(layer) for layer in module.model.layers)
    )


def _plain(parameter: Tensor) -> bool:
    """Return whether a kernel can read the parameter in place."""
    return (
        parameter.dtype == torch.float32
        and parameter.device.type == "cpu"
        and parameter.is_contiguous()
    )


def _layer_fits(layer: Any) -> bool:
    attention, mlp = layer.self_attn, layer.mlp
    projections = (attention.q_proj, attention.k_proj, attention.v_proj)
    others = (attention.o_proj, mlp.gate_proj, mlp.up_proj, mlp.down_proj)
    return (
        all(type(m) is nn.Linear for m in (*projections, *others))
        and all(m.bias is None for m in others)
        and len({m.bias is None for m in projections}) == 1
        and attention.head_dim % LANES == 0
    )


def read(module: Any, sliding: Sequence[bool | None]) -> Weights:
    """Return the kernel's view of a module for which :func:`fits` is true.

    Args:
        module: keeps the memory that the result's addresses point into.
        sliding: per layer, whether it slides.
    """
    layers, config = list(module.model.layers), module.config
    window = getattr(config, "sliding_window", None) or 0
    return Weights(
        matrices=np.array([_matrices(layer) for layer in layers], dtype=np.int64),
        head=module.lm_head.weight.data_ptr(),
        norms=np.stack([_norms(layer) for layer in layers]),
        last_norm=_numbers(module.model.norm.weight).copy(),
        biases=np.stack([_biases(layer) for layer in layers]),
        head_norms=np.stack([_head_norms(layer) for layer in layers]),
        windows=np.array([window if s else 0 for s in sliding], dtype=np.int64),
        epsilon=np.float32(config.rms_norm_eps),
        scale=np.float32(layers[0].self_attn.scaling),
        inner=layers[0].mlp.gate_proj.weight.shape[0],
    )


def _numbers(tensor: Tensor) -> np.ndarray:
    return tensor.detach().numpy()


def _matrices(layer: Any) -> list[int]:
    attention, mlp = layer.self_attn, layer.mlp
    modules = (
        attention.q_proj,
        attention.k_proj,
        attention.v_proj,
        attention.o_proj,
        mlp.gate_proj,
        mlp.up_proj,
        mlp.down_proj,
    )
    return [m.weight.data_ptr() for m in modules]


def _norms(layer: Any) -> np.ndarray:
    both = (layer.input_layernorm, layer.post_attention_layernorm)
    return np.stack([_numbers(norm.weight) for norm in both])  # [2, hidden]


def _biases(layer: Any) -> np.ndarray:
    attention = layer.self_attn
    modules = (attention.q_proj, attention.k_proj, attention.v_proj)
    if modules[0].bias is None:
        return np.zeros(0, dtype=np.float32)
    return np.concatenate([_numbers(m.bias) for m in modules])


def _head_norms(layer: Any) -> np.ndarray:
    attention = layer.self_attn
    if not hasattr(attention, "q_norm"):
        return np.zeros((0, 0), dtype=np.float32)
    both = (attention.q_norm, attention.k_norm)
    return np.stack([_numbers(norm.weight) for norm in both])  # [2, width]
