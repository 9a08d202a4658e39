"""Pairs of real shapes with random weights: what a bench without checkpoints times."""

from __future__ import annotations

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from core.config import DecodingConfig, ModelConfig
from core.control import Control
from core.errors import CoreError, DeviceMemoryError
from core.lab import random_models
from core.lab.bench import BenchResult
from core.lab.benches import bench_random

SETTINGS = DecodingConfig(lookahead=2, temperature=0.0, max_new_tokens=12)


def bench(*shapes: str, device: str = "cpu") -> list:
    model = ModelConfig("random", device)
    control = Control(SETTINGS)
    return list(bench_random(shapes, model, SETTINGS, control, repeats=1))


def test_published_shapes_have_their_published_sizes():
    sizes = {"8b": 8.03e9, "1b": 1.24e9, "7b": 7.6e9, "0.5b": 0.49e9, "135m": 0.135e9}
    for name, wanted in sizes.items():
        assert random_models.num_parameters(name) == pytest.approx(wanted, rel=0.01)


def test_an_unknown_shape_is_named_with_the_known_ones():
    with pytest.raises(CoreError, match=r"shape '9b' is not known; choose 8b, 1b"):
        bench("9b", "1b")


def test_a_shape_that_does_not_fit_is_refused_before_it_is_made(monkeypatch):
    monkeypatch.setattr(random_models, "free_bytes", lambda device: 10**9)
    with pytest.raises(DeviceMemoryError, match=r"random 8b needs 32\.1 GB on cpu"):
        bench("8b", "1b")


def test_a_shared_copy_has_the_same_weights_and_an_attention_of_its_own():
    """On CUDA ours and transformers' ways run side by side over one set of weights."""
    config = LlamaConfig(
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=1,
        num_attention_heads=2,
        vocab_size=50,
    )
    module = LlamaForCausalLM(config).eval()
    twin = random_models.shared_copy(module)
    pairs = zip(module.parameters(), twin.parameters(), strict=True)
    assert all(one is other for one, other in pairs)
    twin.set_attn_implementation("eager")
    assert module.config._attn_implementation != "eager"
    assert twin.model.layers[0].self_attn.config._attn_implementation == "eager"
    ids = torch.tensor([[1, 2, 3]])
    torch.testing.assert_close(module(ids).logits, twin(ids).logits)


@pytest.mark.slow
def test_a_bench_of_random_weights_times_everything(monkeypatch):
    monkeypatch.setattr("core.lab.bench.read_bandwidth", lambda device: 2e10)
    monkeypatch.setitem(random_models._LLAMA, "tiny", (64, 96, 2, 4, 2, 500, True))
    monkeypatch.setitem(random_models._QWEN, "small", (32, 48, 1, 2, 1, 512, True))
    result = bench("tiny", "small")[-1]
    assert isinstance(result, BenchResult)
    assert set(result.target_ms) == {1, 2, 5, 9, 17}
    assert set(result.draft_ms) == {1, 2}
    assert all(rate.median > 0 for rate in result.rates.values())
    assert result.same_tokens == 1
    assert result.host_reads_per_round is None  # memory is all there is
