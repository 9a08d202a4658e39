"""Every family steps like transformers, rewinds without a trace, and stands alone."""

from __future__ import annotations

import functools
import weakref

import pytest
import torch
from tiny_models import CONFIGS, LEAN, VOCABULARY, reference_logits, tiny

from core.errors import DeviceMemoryError
from core.runtime.models import wrap_model

KNOWN = VOCABULARY - 3  # ids that the tokenizer knows; the head has more rows
IDS = torch.randint(
    0, KNOWN, (400,), generator=torch.Generator().manual_seed(1)
).tolist()


def wrapped(module, name: str = "m", dtype: str = "float32", **options):
    return wrap_model(
        module,
        name=name,
        reference=name,
        vocabulary_size=KNOWN,
        device="cpu",
        dtype=dtype,
        **options,
    )


@functools.cache
def pair(family: str):
    """Return a wrapped model and transformers' logits of IDS[:60]."""
    module = tiny(family)
    logits = reference_logits(module, IDS[:60])[:, :KNOWN]
    model = wrapped(module, family)
    return model, logits


def stepped(runner, ids: list[int], width: int = 1) -> torch.Tensor:
    parts = [ids[i : i + width] for i in range(0, len(ids), width)]
    return torch.cat([runner.step(part).clone() for part in parts])


@pytest.mark.parametrize("family", CONFIGS)
def test_steps_give_the_logits_of_the_full_forward(family):
    model, wanted = pair(family)
    for width in (1, 5, 17):
        got = stepped(model.new_runner(60), IDS[:60], width)
        torch.testing.assert_close(got, wanted, atol=1e-4, rtol=0)


@pytest.mark.parametrize("family", CONFIGS)
@pytest.mark.parametrize("prompt", [4, 15, 16, 17, 40])
def test_prefill_then_rollback_continues_as_if_nothing_had_been_proposed(
    family, prompt
):
    model, wanted = pair(family)
    runner = model.new_runner(60)
    assert runner.prefill(IDS[:prompt])
    runner.step(IDS[100:117])  # proposals that are all refused
    runner.truncate(prompt)
    runner.step(IDS[prompt : prompt + 5])
    runner.truncate(prompt + 2)
    got = stepped(runner, IDS[prompt + 2 : prompt + 15])
    torch.testing.assert_close(got, wanted[prompt + 2 : prompt + 15], atol=1e-4, rtol=0)


@pytest.mark.parametrize("family", CONFIGS)
def test_a_rolled_back_runner_has_the_bits_of_one_that_never_stepped(family):
    model, _ = pair(family)
    never, back = model.new_runner(80), model.new_runner(80)
    for runner in (never, back):
        runner.prefill(IDS[:40])
    back.step(IDS[200:209])
    back.truncate(40)
    assert torch.equal(never.step(IDS[40:45]), back.step(IDS[40:45]))


@pytest.mark.parametrize("family", CONFIGS)
@pytest.mark.parametrize("context", [3, 60, 250, 380])
def test_a_row_has_the_same_bits_beside_any_number_of_rows(family, context):
    model, _ = pair(family)
    assert model.facts.row_invariant
    runner = model.new_runner(400)
    runner.prefill(IDS[:context])
    alone = stepped(runner, IDS[context : context + 17])
    for rows in range(2, 18):
        runner.truncate(context)
        beside = runner.step(IDS[context : context + rows])
        assert torch.equal(beside, alone[:rows]), rows


@pytest.mark.parametrize("family", CONFIGS)
def test_logits_end_where_the_tokenizer_ends(family):
    model, _ = pair(family)
    logits = model.new_runner(4).step([1, 2])
    assert logits.shape == (2, KNOWN)
    assert logits.dtype == torch.float32


@pytest.mark.parametrize("family", CONFIGS)
def test_facts_say_what_was_loaded(family):
    model, _ = pair(family)
    facts = model.facts
    assert (facts.name, facts.num_layers, facts.dtype) == (family, 2, "float32")
    assert (facts.vocabulary_size, facts.device) == (KNOWN, "cpu")
    assert facts.memory_bytes == 4 * facts.num_parameters > 0


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_more_tokens_than_the_cache_holds_is_our_own_fault(family):
    model, _ = pair(family)
    runner = model.new_runner(20)
    runner.prefill(IDS[:18])
    with pytest.raises(AssertionError, match="23 tokens in a cache for 20"):
        runner.step(IDS[:5])
    with pytest.raises(AssertionError, match="cannot keep 19 of 18"):
        runner.truncate(19)
    assert runner.length == 18
    assert runner.step(IDS[:2]).shape[0] == 2


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_prefill_stops_between_chunks_when_asked(family):
    module = tiny(family, max_position_embeddings=1024, n_positions=1024)
    model = wrapped(module, family)
    runner, seen = model.new_runner(1000), []
    long = IDS * 2
    assert not runner.prefill(long, lambda done: seen.append(done) or False)
    assert seen == [512]
    assert runner.length == 512
    assert runner.prefill([])


def test_two_runners_of_one_model_do_not_disturb_each_other():
    model, wanted = pair("llama")
    first, second = model.new_runner(60), model.new_runner(60)
    second.prefill(IDS[200:230])
    got = []
    for token in IDS[:20]:
        got.append(first.step([token]).clone())
        second.step(IDS[230:231])
        second.truncate(30)
    torch.testing.assert_close(torch.cat(got), wanted[:20], atol=1e-4, rtol=0)


@pytest.mark.parametrize("family", ["llama", "mistral", "gemma2", "gpt2"])
def test_cache_bytes_are_those_of_the_buffers(family):
    model, _ = pair(family)
    config = CONFIGS[family]()
    heads = getattr(config, "num_key_value_heads", 4)
    width = getattr(config, "head_dim", None) or config.hidden_size // 4
    assert model.cache_bytes(64) == 2 * 2 * 4 * heads * width * 64


def test_a_window_wider_than_a_chunk_of_keys_is_kept():
    """H8."""
    long = IDS * 2
    module = tiny("mistral", sliding_window=300, max_position_embeddings=1024)
    wanted = reference_logits(module, long[:700])[:, :KNOWN]
    model = wrapped(module)
    for prompt in (280, 310, 570, 690):
        runner = model.new_runner(720)
        runner.prefill(long[:prompt])
        rows = runner.step(long[prompt : prompt + 10]).clone()
        torch.testing.assert_close(
            rows, wanted[prompt : prompt + 10], atol=1e-4, rtol=0
        )
        runner.truncate(prompt)
        assert torch.equal(stepped(runner, long[prompt : prompt + 10]), rows)


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_the_cache_goes_when_the_runner_goes(family):
    runner = pair(family)[0].new_runner(40)
    runner.prefill(IDS[:20])
    runner.step(IDS[20:25])
    cache = getattr(runner, "_prompts", runner)._cache
    gone = [weakref.ref(layer) for layer in cache.layers]
    del cache, runner
    assert not any(layer() for layer in gone)


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_a_cache_without_room_says_how_much_it_needs(family):
    model, _ = pair(family)
    with pytest.raises(
        DeviceMemoryError, match="MiB, more than cpu has free"
    ) as caught:
        model.new_runner(10**12)
    assert caught.value.facts["needed"] == model.cache_bytes(10**12)


@pytest.mark.parametrize("family", LEAN)
def test_llama_like_families_take_the_whole_step_kernel(family):
    assert type(pair(family)[0]).__name__ == "DecoderModel"


def test_half_precision_runs_on_torch_and_claims_nothing():
    module = tiny("qwen2").to(torch.bfloat16)
    wanted = reference_logits(module, IDS[:12])[:, :KNOWN].float()
    model = wrapped(module, dtype="bfloat16")
    assert not model.facts.row_invariant
    got = stepped(model.new_runner(12), IDS[:12], 4)
    torch.testing.assert_close(got, wanted, atol=0.1, rtol=0.1)


def test_progress_names_its_stages():
    stages = []
    wrapped(tiny("llama"), progress=lambda stage, fraction: stages.append(stage))
    assert stages == ["Checking the model", "Preparing the kernels"]
