"""The estimate against what five pairs really take; run by hand, it takes minutes.

Measured here on a CPU (megabytes; a race of 32 tokens after a prompt of some 200):

    target, draft, dtype                        estimate  measured
    llama 71 M, llama 20 M, float32                  438       430
    llama 71 M, lookup, bfloat16                     262       259
    qwen2 54 M, llama 20 M, bfloat16                 317       321
    demo target (llama 135 M), lookup, float32       609       620
    gpt_neox 71 M, lookup, float32                   354       346
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import transformers

from core.checkpoints import demo
from tests.core.checkpoints.tiny_checkpoints import (
    byte_tokens,
    make_checkpoint,
    make_tokenizer,
)

pytestmark = [pytest.mark.exhaustive, pytest.mark.slow, pytest.mark.real_pair]

ROWS = 32_000
_LLAMA = {
    "hidden_size": 512,
    "intermediate_size": 1536,
    "num_hidden_layers": 12,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
}
_SMALL = {
    "hidden_size": 256,
    "intermediate_size": 768,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}
_NEOX = {
    "hidden_size": 512,
    "intermediate_size": 2048,
    "num_hidden_layers": 12,
    "num_attention_heads": 8,
}
MODELS = {
    "llama": ("LlamaConfig", _LLAMA, "float32"),
    "small": ("LlamaConfig", _SMALL, "float32"),
    "qwen2": ("Qwen2Config", {**_LLAMA, "tie_word_embeddings": True}, "bfloat16"),
    "neox": ("GPTNeoXConfig", _NEOX, "float32"),
}
PAIRS = (
    ("llama", "small", "float32"),
    ("llama", "lookup", "bfloat16"),
    ("qwen2", "small", "bfloat16"),
    ("neox", "lookup", "float32"),
    ("demo", "lookup", "float32"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The models of the table, random, and a tiny one to warm up on."""
    folder = tmp_path_factory.mktemp("measured")
    make_checkpoint(folder / "tiny", max_position_embeddings=512)
    tokens = byte_tokens(tuple(f"token{i}" for i in range(ROWS - 300)))
    for name, (config, settings, dtype) in MODELS.items():
        made = getattr(transformers, config)(
            vocab_size=ROWS, bos_token_id=None, eos_token_id=0, **settings
        )
        model = transformers.AutoModelForCausalLM.from_config(
            made, dtype=getattr(torch, dtype)
        )
        model.save_pretrained(folder / name)
        make_tokenizer(folder / name, tokens)
    return folder


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(("target", "draft", "dtype"), PAIRS)
def test_the_estimate_is_within_a_tenth(folder, target, draft, dtype):
    if target == "demo":
        demo.fetch_demo()
    names = [str(folder / n) if (folder / n).is_dir() else n for n in (target, draft)]
    command = [sys.executable, "-m", "tests.core.checkpoints.measured_memory"]
    done = subprocess.run(
        [*command, str(folder / "tiny"), *names, dtype],
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.getcwd()},
    )
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["total_bytes"] == pytest.approx(found["measured"], rel=0.1)
