"""Recorded steps of fixed width give the eager path's logits, whatever came before.

On a CPU a recording is the call itself; what runs inside it is what a GPU would record.
"""

from __future__ import annotations

import dataclasses
import functools
import gc

import pytest
import torch
from tape import TapeRecorder, is_frozen
from tiny_models import CONFIGS, VOCABULARY, reference_logits, tiny

from core.errors import DeviceMemoryError
from core.events import ModelFacts
from core.runtime import checks, models, slot, static_attention, support
from core.runtime.captured_graphs import run_directly
from core.runtime.captured_model import CapturedModel
from core.runtime.capturing import capture
from core.runtime.kv_cache import buffers
from core.runtime.slot import WIDTHS
from core.runtime.transformers_model import (
    MAX_ROWS,
    Calling,
    TransformersModel,
    TransformersRunner,
)

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


@functools.cache
def pair(family: str):
    """Return a model of recorded steps and transformers' logits of IDS[:120]."""
    module = tiny(family)
    wanted = reference_logits(module, IDS[:120])[:, :KNOWN]
    facts, calling, shapes = parts(module)
    if module._can_set_attn_implementation():
        module.set_attn_implementation(static_attention.NAME)
    return CapturedModel(module, facts, calling, shapes, smallest=32), wanted


def test_every_step_has_a_width():
    assert WIDTHS[0] == 1
    assert WIDTHS[-1] == MAX_ROWS


@pytest.mark.parametrize("family", CONFIGS)
def test_padded_steps_give_the_logits_of_the_full_forward(family):
    model, wanted = pair(family)
    runner = model.new_runner(120)
    for context in (1, 63):
        for rows in range(1, 18):
            runner.truncate(min(runner.length, context))
            runner.prefill(IDS[runner.length : context])
            got = runner.step(IDS[context : context + rows])
            torch.testing.assert_close(got, wanted[context : context + rows], **CLOSE)


def test_a_tape_is_as_frozen_as_a_graph():
    assert is_frozen()


@pytest.mark.parametrize("family", CONFIGS)
def test_a_recorded_step_depends_on_its_buffers_alone(family):
    """A tape repeats what was recorded at the start, whatever the length is by now."""
    module, tape = tiny(family), TapeRecorder()
    wanted = reference_logits(module, IDS[:60])[:, :KNOWN]
    facts, calling, shapes = parts(module)
    if module._can_set_attn_implementation():
        module.set_attn_implementation(static_attention.NAME)
    runner = CapturedModel(module, facts, calling, shapes, tape, 32).new_runner(60)
    for context, rows in ((0, 1), (1, 2), (3, 3), (30, 5), (38, 9), (43, 17)):
        runner.prefill(IDS[runner.length : context])
        got = runner.step(IDS[context : context + rows])
        torch.testing.assert_close(got, wanted[context : context + rows], **CLOSE)
        runner.truncate(context + rows - rows // 2)
    assert tape.replays == 6


@pytest.mark.parametrize("family", CONFIGS)
def test_a_rollback_leaves_no_trace(family):
    model, wanted = pair(family)
    runner = model.new_runner(120)
    runner.prefill(IDS[:40])
    runner.step(IDS[100:117])  # proposals that are all refused
    runner.truncate(40)
    runner.step(IDS[40:45])
    runner.truncate(42)
    for place in range(42, 50):
        got = runner.step(IDS[place : place + 1])
        torch.testing.assert_close(got, wanted[place : place + 1], **CLOSE)


@pytest.mark.parametrize("family", ["llama", "mistral", "gemma2", "gpt2"])
def test_what_is_stale_is_never_seen(family):
    """Huge numbers instead of NaN, which no mask can hide; the buffers begin as 0."""
    model, _ = pair(family)
    clean, dirty = model.new_runner(60), model.new_runner(60)
    for layer in dirty._slot._cache.layers:
        layer.keys.fill_(1e4)
        layer.values.fill_(1e4)
    for runner in (clean, dirty):
        runner.prefill(IDS[:20])
    for ids in (IDS[20:24], IDS[24:25], IDS[25:42]):
        assert torch.equal(clean.step(ids), dirty.step(ids))


def test_the_buffers_hold_no_stray_numbers_at_first():
    model, _ = pair("llama")
    layers = model.new_runner(200)._slot._cache.layers  # a size nobody asked for before
    assert all(torch.isfinite(layer.keys).all() for layer in layers)


def test_a_new_slot_holds_nothing_of_its_recording():
    module = tiny("llama")
    facts, calling, shapes = parts(module)
    model = CapturedModel(module, facts, calling, shapes, smallest=32)
    for layer in model.new_runner(20)._slot._cache.layers:
        assert not layer.keys.any()
        assert not layer.values.any()


def test_a_run_that_broke_leaves_nothing_to_the_next_one():
    """Its scores may have been NaN, and so may what it wrote into the cache."""
    module = tiny("llama")
    facts, calling, shapes = parts(module)
    model = CapturedModel(module, facts, calling, shapes, smallest=64)
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


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_ids_may_lie_on_the_device(family):
    model, wanted = pair(family)
    runner = model.new_runner(60)
    for start, rows in ((0, 5), (5, 1), (6, 3)):
        got = runner.step(torch.tensor(IDS[start : start + rows]))
        torch.testing.assert_close(got, wanted[start : start + rows], **CLOSE)


def test_the_last_step_may_end_where_the_context_ends():
    """Padding reaches behind the last position that the model has an embedding for."""
    module = tiny("gpt2", n_positions=512)
    facts, calling, shapes = parts(module)
    long = (IDS * 2)[:512]
    wanted = reference_logits(module, long)[:, :KNOWN]
    runner = CapturedModel(module, facts, calling, shapes).new_runner(512)
    runner.prefill(long[:505])
    torch.testing.assert_close(runner.step(long[505:511]), wanted[505:511], **CLOSE)
    torch.testing.assert_close(runner.step(long[511:]), wanted[511:], **CLOSE)


def test_two_runners_of_one_model_do_not_disturb_each_other():
    model, wanted = pair("llama")
    first, second = model.new_runner(60), model.new_runner(60)
    second.prefill(IDS[200:230])
    got = []
    for token in IDS[:20]:
        got.append(first.step([token]).clone())
        second.step(IDS[230:231])
        second.truncate(30)
    torch.testing.assert_close(torch.cat(got), wanted[:20], **CLOSE)


def test_a_slot_serves_the_next_run_and_no_more_than_two_are_kept():
    module = tiny("llama")
    facts, calling, shapes = parts(module)
    recorded = []
    model = CapturedModel(
        module,
        facts,
        calling,
        shapes,
        lambda work: recorded.append(work) or run_directly(work),
        smallest=32,
    )
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
    facts, calling, shapes = parts(module)
    model = CapturedModel(module, facts, calling, shapes, smallest=32)
    assert model.spare_bytes == 0
    model.new_runner(20)
    assert model.spare_bytes == model.cache_bytes(20)


def test_a_cache_without_room_says_how_much_it_needs():
    model, _ = pair("llama")
    with pytest.raises(DeviceMemoryError, match="MiB, more than cpu has free"):
        model.new_runner(10**12)


def test_only_a_full_device_is_told_as_one():
    module = tiny("llama")
    facts, calling, shapes = parts(module)
    with pytest.raises(RuntimeError, match="stream is capturing"):
        CapturedModel(module, facts, calling, shapes, _refuse).new_runner(10)

    def full(work):
        raise RuntimeError("CUDA error: out of memory")

    with pytest.raises(DeviceMemoryError, match="more than cpu has free"):
        CapturedModel(module, facts, calling, shapes, full).new_runner(10)


def test_more_tokens_than_were_asked_for_are_our_own_fault():
    model, _ = pair("llama")
    runner = model.new_runner(20)
    runner.prefill(IDS[:18])
    with pytest.raises(AssertionError, match="23 tokens in a cache for 20"):
        runner.step(IDS[:5])
    assert runner.length == 18


def _capture(module, recorder=None, change=lambda logits: logits):
    facts, calling, shapes = parts(module)
    eager = TransformersModel(module, facts, calling, shapes)
    logits = checks.together(eager, checks.sample_ids(KNOWN))
    heard: list[float] = []
    model = capture(
        module,
        eager,
        calling,
        shapes,
        change(logits),
        heard.append,
        recorder=recorder,
    )
    return model, heard


def test_capturing_checks_itself_and_tells_how_far_it_is():
    model, heard = _capture(tiny("qwen2"))
    assert isinstance(model, CapturedModel)
    assert "untested on a GPU" in model.note
    assert heard == [n / len(WIDTHS) for n in range(len(WIDTHS))]


def test_a_load_can_be_cancelled_while_it_records():
    class Cancelled(Exception):
        pass

    def leave(fraction):
        if fraction > 0.4:
            raise Cancelled

    module = tiny("llama")
    facts, calling, shapes = parts(module)
    eager = TransformersModel(module, facts, calling, shapes)
    logits = checks.together(eager, checks.sample_ids(KNOWN))
    with pytest.raises(Cancelled):
        capture(module, eager, calling, shapes, logits, leave)
    assert not eager.note


def test_wrapping_for_cuda_captures_and_loading_says_so(monkeypatch):
    monkeypatch.setattr(models, "_is_on_cuda", lambda facts: True)
    monkeypatch.setattr(models, "_kernels_can_run", lambda module: False)
    heard = []
    model = models.wrap_model(
        tiny("llama"),
        name="m",
        reference="m",
        vocabulary_size=KNOWN,
        device="cpu",
        dtype="float32",
        progress=lambda stage, fraction: heard.append((stage, fraction)),
    )
    assert isinstance(model, CapturedModel)
    assert heard[0] == ("Checking the model", None)
    assert [h[0] for h in heard[1:]] == ["Recording the steps"] * len(WIDTHS)


def test_a_sliced_head_is_captured_too(monkeypatch):
    monkeypatch.setattr(models, "_is_on_cuda", lambda facts: True)
    monkeypatch.setattr(models, "_kernels_can_run", lambda module: False)
    kept = list(range(0, KNOWN, 5))
    wanted = reference_logits(tiny("llama"), IDS[:6])[:, kept]
    model = models.wrap_model(
        tiny("llama"),
        name="m",
        reference="m",
        vocabulary_size=KNOWN,
        device="cpu",
        dtype="float32",
        head_ids=kept,
    )
    assert isinstance(model, CapturedModel)
    got = model.new_runner(6).step(IDS[:6])
    torch.testing.assert_close(got, wanted, **CLOSE)


def test_half_precision_is_checked_within_its_rounding():
    module = tiny("qwen2").to(torch.bfloat16)
    facts, calling, shapes = parts(module)
    facts = dataclasses.replace(facts, dtype="bfloat16")
    eager = TransformersModel(module, facts, calling, shapes)
    logits = checks.together(eager, checks.sample_ids(KNOWN))
    model = capture(module, eager, calling, shapes, logits)
    assert isinstance(model, CapturedModel), eager.note


def test_the_modules_own_attention_is_tried_where_ours_fails(monkeypatch):
    def wrong(self, *args, **kwargs):
        raise TypeError("an argument that nobody foresaw")

    monkeypatch.setattr(static_attention.StaticAttention, "__call__", wrong)
    module = tiny("llama")
    own, wanted = module.config._attn_implementation, reference_logits(module, IDS[:9])
    model, _ = _capture(module)
    assert isinstance(model, CapturedModel)
    assert module.config._attn_implementation == own
    got = model.new_runner(9).step(IDS[:9])
    torch.testing.assert_close(got, wanted[:, :KNOWN], **CLOSE)


def _refuse(work):
    raise RuntimeError("operation not permitted when stream is capturing\nmore")


@pytest.mark.parametrize(
    ("recorder", "change", "reason"),
    [
        (_refuse, lambda logits: logits, "(this family cannot be recorded)"),
        (None, lambda logits: logits + 1.0 * logits.abs().max(), "other scores"),
    ],
)
def test_what_cannot_be_captured_runs_eagerly_with_a_note(recorder, change, reason):
    module = tiny("llama")
    before = module.config._attn_implementation
    wanted = reference_logits(module, IDS[:6])[:, :KNOWN]
    model, _ = _capture(module, recorder, change)
    assert isinstance(model, TransformersModel)
    assert reason in model.note
    assert module.config._attn_implementation == before
    torch.testing.assert_close(model.new_runner(6).step(IDS[:6]), wanted, **CLOSE)


@pytest.mark.parametrize("width", WIDTHS)
def test_each_width_is_held_against_the_plain_path(width):
    """One that does nothing finds the right scores of the width before it."""
    recorded = []

    def recorder(work):
        recorded.append(work)
        work()
        idle = (len(recorded) - 1) % len(WIDTHS) == WIDTHS.index(width)
        return (lambda: None) if idle else work

    model, _ = _capture(tiny("llama"), recorder)
    assert isinstance(model, TransformersModel)
    assert "a replay gave other scores" in model.note


def test_what_is_read_is_held_against_what_is_stepped_over(monkeypatch):
    monkeypatch.setattr(slot.Slot, "read", lambda self, ids, start: None)
    model, _ = _capture(tiny("llama"))
    assert isinstance(model, TransformersModel)
    assert "a prompt that was read gave other scores" in model.note
