"""A load records the steps, checks them, and does without where that fails."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from captured_parts import CLOSE, IDS, KNOWN, parts, refuse
from tiny_models import reference_logits, tiny

from core.runtime import checks, models, slot, static_attention
from core.runtime.captured_model import CapturedModel
from core.runtime.capturing import capture
from core.runtime.slot import WIDTHS
from core.runtime.transformers_model import TransformersModel


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


@pytest.mark.parametrize(
    ("recorder", "change", "reason"),
    [
        (refuse, lambda logits: logits, "(this family cannot be recorded)"),
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
