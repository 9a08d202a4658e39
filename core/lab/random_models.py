"""Models of real shapes with random weights: for costs, which do not depend on them."""

from __future__ import annotations

import copy
import itertools
import math
from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM

from core.checkpoints.devices import Placement, free_bytes
from core.checkpoints.facts import CheckpointFacts, CheckpointKind
from core.checkpoints.loading import LoadedModel
from core.checkpoints.memory import require_room
from core.errors import ConfigurationError
from core.lab.table_model import NumberTokenizer
from core.runtime.models import wrap_model

# hidden, inner, layers, heads, key heads, vocabulary, tied: the published shapes.
_LLAMA = {
    "8b": (4096, 14336, 32, 32, 8, 128256, False),
    "1b": (2048, 8192, 16, 32, 8, 128256, True),
    "135m": (576, 1536, 30, 9, 3, 49152, True),
    "4m": (192, 512, 4, 3, 3, 49152, True),
}
_QWEN = {
    "7b": (3584, 18944, 28, 28, 4, 152064, False),
    "1.5b": (1536, 8960, 28, 12, 2, 151936, True),
    "0.5b": (896, 4864, 24, 14, 2, 151936, True),
}
SHAPES = (*_LLAMA, *_QWEN)
_CONTEXT = 8192


def random_pair(
    target: str, draft: str, placement: Placement
) -> tuple[LoadedModel, LoadedModel, dict[str, Any]]:
    """Return a target, a draft and both transformers modules, with random weights.

    Args:
        target: one of ``SHAPES``.
        draft: one of ``SHAPES``; both get the larger vocabulary.
        placement: where, and in which numbers.

    Raises:
        ConfigurationError: for a shape that is not known.
        DeviceMemoryError: if a model does not fit.
    """
    configs = {name: _config(name) for name in (target, draft)}
    vocabulary = max(config.vocab_size for config in configs.values())
    for config in configs.values():
        config.vocab_size = vocabulary  # transformers refuses a narrower assistant
    modules: dict[str, Any] = {}
    for seed, (role, name) in enumerate((("target", target), ("draft", draft))):
        modules[role] = _module(name, configs[name], placement, seed)
    twins = {role: _twin(module, placement) for role, module in modules.items()}
    loaded = [
        _loaded(name, twins[role], vocabulary, placement)
        for role, name in (("target", target), ("draft", draft))
    ]
    return loaded[0], loaded[1], modules


def _config(name: str) -> Any:
    shape = _LLAMA.get(name) or _QWEN.get(name)
    if shape is None:
        raise ConfigurationError(
            f"The shape {name!r} is not known; choose {', '.join(SHAPES)}.", shape=name
        )
    hidden, inner, layers, heads, key_heads, vocabulary, tied = shape
    return (LlamaConfig if name in _LLAMA else Qwen2Config)(
        hidden_size=hidden,
        intermediate_size=inner,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=key_heads,
        vocab_size=vocabulary,
        tie_word_embeddings=tied,
        max_position_embeddings=_CONTEXT,
    )


def num_parameters(name: str) -> int:
    """Return the size of a shape without making it."""
    return _facts(name, _empty(name, _config(name))).num_parameters


def _made(name: str) -> Any:
    return LlamaForCausalLM if name in _LLAMA else Qwen2ForCausalLM


def _empty(name: str, config: Any) -> Any:
    with torch.device("meta"):
        return _made(name)(config)


def _module(name: str, config: Any, placement: Placement, seed: int) -> Any:
    free = free_bytes(placement.device)
    facts = _facts(name, _empty(name, config))
    require_room(facts, placement.dtype, placement.device, free)
    with torch.random.fork_rng(devices=[]), torch.device(placement.device):
        torch.manual_seed(seed)
        module = _made(name)._from_config(config, dtype=placement.torch_dtype)
    return module.eval().requires_grad_(False)


def _twin(module: Any, placement: Placement) -> Any:
    """Return what our runtime may change: on CUDA a second module of the same weights.

    There it gets another attention, which would run in transformers' generate too. On
    a CPU the weights themselves are laid out anew, and a second module would hold them
    twice.
    """
    if not placement.device.startswith("cuda"):
        return module
    return shared_copy(module)


def shared_copy(module: Any) -> Any:
    """Return a copy of a module that has the very same parameters and buffers."""
    tensors = itertools.chain(module.parameters(), module.buffers())
    return copy.deepcopy(module, {id(tensor): tensor for tensor in tensors})


def _facts(name: str, module: Any) -> CheckpointFacts:
    config = module.config
    width = config.hidden_size // config.num_attention_heads
    return CheckpointFacts(
        kind=CheckpointKind.FOLDER,
        reference=f"random {name}",
        name=f"random {name}",
        architecture=config.model_type,
        num_parameters=sum(math.prod(p.shape) for p in module.parameters()),
        num_layers=config.num_hidden_layers,
        hidden_size=config.hidden_size,
        vocabulary_size=config.vocab_size,
        tokenizer_size=config.vocab_size,
        context_length=_CONTEXT,
        cache_values_per_token=2
        * config.num_hidden_layers
        * config.num_key_value_heads
        * width,
    )


def _loaded(
    name: str, module: Any, vocabulary: int, placement: Placement
) -> LoadedModel:
    model = wrap_model(
        module,
        name=f"random {name}",
        reference=f"random {name}",
        vocabulary_size=vocabulary,
        device=placement.device,
        dtype=placement.dtype,
    )
    return LoadedModel(
        model=model,
        tokenizer=NumberTokenizer(),
        facts=_facts(name, module),
        eos_ids=(),
        special_ids=frozenset(),
        context_length=_CONTEXT,
        vocabulary_size=vocabulary,
        head_rows=module.config.vocab_size,
        device=placement.device,
        dtype=placement.dtype,
    )
