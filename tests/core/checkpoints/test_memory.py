"""How much memory a pair needs, before it is loaded."""

from __future__ import annotations

import dataclasses

import pytest

from core.checkpoints.facts import CheckpointFacts, CheckpointKind
from core.checkpoints.inspection import inspect_checkpoint
from core.checkpoints.loading import load_model
from core.checkpoints.memory import estimate
from core.config import ModelConfig
from core.runtime.slot_sizes import GRAPH_BYTES, slot_tokens

TARGET = CheckpointFacts(
    CheckpointKind.FOLDER, "t", "t", num_parameters=1000, vocabulary_size=50,
    cache_values_per_token=16,
)  # fmt: skip
DRAFT = CheckpointFacts(
    CheckpointKind.FOLDER, "d", "d", num_parameters=100, vocabulary_size=40,
    cache_values_per_token=4,
)  # fmt: skip


def _estimate(draft=DRAFT, racing=False, **more):
    options = {"capacity": 100, "lookahead": 4, "racing": racing, **more}
    return estimate(TARGET, draft, **options)


def test_every_part_is_counted():
    found = _estimate()
    assert found.weights_bytes == 4 * 1100
    assert found.cache_bytes == 4 * 100 * 20
    assert found.logits_bytes == 3 * 4 * (5 * 50 + 4 * 40)
    parts = found.weights_bytes + found.cache_bytes + found.logits_bytes
    assert found.total_bytes == parts + found.scratch_bytes
    assert found.free_bytes > 0


def test_race_keeps_two_caches_of_the_target():
    more = _estimate(racing=True).cache_bytes - _estimate().cache_bytes
    assert more == 4 * 100 * 16


def test_half_precision_halves_weights_and_caches():
    half = _estimate(dtype="bfloat16")
    assert half.weights_bytes == 2 * 1100
    assert half.cache_bytes == 2 * 100 * 20


@pytest.mark.parametrize(("capacity", "rows"), [(100, 1088), (1100, 2112)])
def test_a_gpu_keeps_slots_and_their_graphs(capacity, rows):
    """A slot of 1,024 or 2,048 tokens, 17 rows of padding, whole blocks of 64."""
    long = dataclasses.replace(TARGET, context_length=8192)
    short = dataclasses.replace(DRAFT, context_length=8192)
    how = {"device": "cuda:0", "dtype": "bfloat16", "lookahead": 4}
    found = [
        estimate(long, short, capacity=capacity, racing=racing, **how)
        for racing in (False, True)
    ]
    assert found[0].cache_bytes == 2 * rows * (16 + 4)
    assert found[1].cache_bytes == 2 * rows * (2 * 16 + 4)
    assert found[1].scratch_bytes - found[0].scratch_bytes == GRAPH_BYTES


def test_no_slot_is_longer_than_the_context():
    assert slot_tokens(100, 512) == 512
    assert slot_tokens(5000, 8000) == 8000
    assert slot_tokens(1500, 8000) == 2048


def test_without_a_draft_only_the_target_counts():
    found = _estimate(draft=None)
    assert found.weights_bytes == 4000
    assert found.logits_bytes == 3 * 4 * 5 * 50


def test_context_that_cannot_fit_is_seen():
    assert not _estimate(capacity=10**13).fits


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_estimate_is_what_the_model_takes(whole, dtype):
    facts = inspect_checkpoint(whole)
    model = load_model(ModelConfig(str(whole), dtype=dtype)).model
    found = estimate(facts, None, capacity=32, lookahead=4, racing=False, dtype=dtype)
    assert found.weights_bytes == model.facts.memory_bytes
    assert found.cache_bytes == model.cache_bytes(32)


def test_half_imported_torch_counts_as_no_gpu(monkeypatch):
    """Another thread may be importing torch while the window asks for an estimate."""
    import sys
    import types

    from core.checkpoints import memory

    monkeypatch.setitem(sys.modules, "torch", types.ModuleType("torch"))
    assert memory._cuda_here() is False
