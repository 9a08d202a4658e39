"""Slots: the caches that steps are recorded over, kept from run to run."""

from __future__ import annotations

import gc

import pytest
import torch
from captured_parts import CLOSE, IDS, KNOWN, captured, pair, refuse
from tiny_models import reference_logits, tiny

from core.errors import DeviceMemoryError
from core.runtime.captured_graphs import run_directly
from core.runtime.slot import WIDTHS


def test_the_buffers_hold_no_stray_numbers_at_first():
    model, _ = pair("llama")
    layers = model.new_runner(200)._slot._cache.layers  # a size nobody asked for before
    assert all(torch.isfinite(layer.keys).all() for layer in layers)


def test_a_new_slot_holds_nothing_of_its_recording():
    module = tiny("llama")
    model = captured(module)
    for layer in model.new_runner(20)._slot._cache.layers:
        assert not layer.keys.any()
        assert not layer.values.any()


def test_a_run_that_broke_leaves_nothing_to_the_next_one():
    """Its scores may have been NaN, and so may what it wrote into the cache."""
    module = tiny("llama")
    model = captured(module, smallest=64)
    broken = model.new_runner(50)
    slot = broken._slot
    broken.prefill(IDS[:30])
    for layer in slot._cache.layers:
        layer.keys[:, :, 5:].fill_(torch.nan)
    del broken
    runner = model.new_runner(50)
    assert runner._slot is slot
    wanted = reference_logits(module, IDS[:4])[:, :KNOWN]
    torch.testing.assert_close(runner.step(IDS[:4]), wanted, **CLOSE)


def test_a_slot_serves_the_next_run_and_no_more_than_two_are_kept():
    module = tiny("llama")
    recorded = []
    model = captured(module, lambda work: recorded.append(work) or run_directly(work))
    runners = [model.new_runner(n) for n in (10, 20, 32)]
    assert len(recorded) == 3 * len(WIDTHS)
    runners.clear()
    gc.collect()
    kept = [model.new_runner(5), model.new_runner(31)]
    assert len(recorded) == 3 * len(WIDTHS)
    kept.append(model.new_runner(33))  # another size
    assert len(recorded) == 4 * len(WIDTHS)


def test_cache_bytes_are_those_of_the_slot():
    model, _ = pair("llama")
    layers = model.new_runner(40)._slot._cache.layers
    held = sum(t.nbytes for layer in layers for t in (layer.keys, layer.values))
    assert model.cache_bytes(40) == held
    assert model.cache_bytes(40) == model.cache_bytes(64)
    assert model.cache_bytes(200) > model.cache_bytes(64)


def test_spare_slots_count_as_free():
    module = tiny("llama")
    model = captured(module)
    assert model.spare_bytes == 0
    model.new_runner(20)
    assert model.spare_bytes == model.cache_bytes(20)


def test_a_cache_without_room_says_how_much_it_needs():
    model, _ = pair("llama")
    with pytest.raises(DeviceMemoryError, match="MiB, more than cpu has free"):
        model.new_runner(10**12)


def test_only_a_full_device_is_told_as_one():
    module = tiny("llama")
    with pytest.raises(RuntimeError, match="stream is capturing"):
        captured(module, refuse).new_runner(10)

    def full(work):
        raise RuntimeError("CUDA error: out of memory")

    with pytest.raises(DeviceMemoryError, match="more than cpu has free"):
        captured(module, full).new_runner(10)


def test_more_tokens_than_were_asked_for_are_our_own_fault():
    model, _ = pair("llama")
    runner = model.new_runner(20)
    runner.prefill(IDS[:18])
    with pytest.raises(AssertionError, match="23 tokens in a cache for 20"):
        runner.step(IDS[:5])
    assert runner.length == 18
