"""Recorded steps of fixed width give the eager path's logits, whatever came before."""

from __future__ import annotations

import pytest
import torch
from captured_parts import CLOSE, IDS, KNOWN, captured, pair, with_our_attention
from tape import TapeRecorder, is_frozen
from tiny_models import CONFIGS, reference_logits, tiny

from core.runtime.slot import WIDTHS
from core.runtime.transformers_model import MAX_ROWS


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
    runner = with_our_attention(module, tape).new_runner(60)
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
    long = (IDS * 2)[:512]
    wanted = reference_logits(module, long)[:, :KNOWN]
    runner = captured(module).new_runner(512)
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
