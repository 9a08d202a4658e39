"""What the tests of recorded steps are made of.

On a CPU a recording is the call itself; what runs inside it is what a GPU would record.
"""

from __future__ import annotations

import functools

import torch
from tiny_models import VOCABULARY, reference_logits, tiny

from core.events import ModelFacts
from core.runtime import static_attention, support
from core.runtime.captured_graphs import run_directly
from core.runtime.captured_model import CapturedModel
from core.runtime.kv_cache import buffers
from core.runtime.transformers_model import Calling, TransformersRunner

KNOWN = VOCABULARY - 3  # ids that the tokenizer knows; the head has more rows
IDS = torch.randint(
    0, KNOWN, (400,), generator=torch.Generator().manual_seed(1)
).tolist()
CLOSE = {"atol": 1e-4, "rtol": 0}
FACTS = ModelFacts("m", "m", 1, 2, KNOWN, 512, "cpu", "float32", 4, False)


def parts(module):
    """Return facts, calling and cache shapes of a module, as wrapping finds them."""
    calling = Calling(
        cache_argument=support.cache_argument(module),
        keeps_last_logits=support.keeps_last_logits(module),
        sliding=tuple(support.cache_layers(module)),
        head_rows=KNOWN,
    )
    cache = buffers(4, calling.sliding)
    TransformersRunner(module, calling, cache, 4).step(IDS[:4])
    return FACTS, calling, cache.shapes()


def captured(module, recorder=run_directly, smallest=32):
    """Return a model of recorded steps over a module."""
    return CapturedModel(module, *parts(module), recorder, smallest)


@functools.cache
def pair(family: str):
    """Return a model of recorded steps and transformers' logits of IDS[:120]."""
    module = tiny(family)
    wanted = reference_logits(module, IDS[:120])[:, :KNOWN]
    return with_our_attention(module), wanted


def with_our_attention(module, recorder=run_directly):
    """Return a model of recorded steps that attends as one on a GPU does."""
    facts, calling, shapes = parts(module)
    if module._can_set_attn_implementation():
        module.set_attn_implementation(static_attention.NAME)
    return CapturedModel(module, facts, calling, shapes, recorder, 32)


def refuse(work):
    raise RuntimeError("operation not permitted when stream is capturing\nmore")
