"""Models whose state cannot be rewound decode plainly, and rightly (H9)."""

from __future__ import annotations

import pytest
import torch
import transformers
from tiny_models import spread
from transformers import AutoModelForCausalLM

from core.checkpoints.quiet import quiet
from core.errors import DeviceMemoryError, UnsupportedModelError
from core.runtime import stateful_trial
from core.runtime.models import wrap_model
from core.runtime.runner import PREFILL_CHUNK
from core.runtime.stateful_model import StatefulModel

pytestmark = pytest.mark.slow
VOCABULARY = 96
_SMALL = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
_HEADS = {
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 1024,
    "intermediate_size": 48,
}
_MIXED = {"layer_types": ["linear_attention", "full_attention"], "head_dim": 8}
_SSM = {"mamba_n_heads": 8, "mamba_d_head": 8, "mamba_d_state": 16}
_LINEAR = {
    "linear_num_value_heads": 4,
    "linear_num_key_heads": 2,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
}
# Config class, settings and a word of the kind of layer that is named.
FAMILIES = {
    "mamba": ("MambaConfig", _SMALL, "linear"),
    "mamba2": (
        "Mamba2Config",
        {**_SMALL, "num_heads": 8, "head_dim": 8, "n_groups": 2, "state_size": 16},
        "linear",
    ),
    "rwkv": ("RwkvConfig", _SMALL, "recurrent"),
    "recurrent-gemma": (
        "RecurrentGemmaConfig",
        {
            **_SMALL,
            "num_hidden_layers": 3,
            "intermediate_size": 64,
            "num_attention_heads": 4,
            "attention_window_size": 16,
        },
        "linear",
    ),
    "lfm2": (
        "Lfm2Config",
        {**_SMALL, **_HEADS, "layer_types": ["conv", "full_attention"]},
        "conv",
    ),
    "falcon-h1": (
        "FalconH1Config",
        {**_SMALL, **_HEADS, **_SSM, "mamba_d_ssm": 64, "head_dim": 8},
        "hybrid",
    ),
    "qwen3.5": (
        "Qwen3_5TextConfig",
        {**_SMALL, **_HEADS, **_MIXED, **_LINEAR},
        "linear",
    ),
}


def module(family: str, dtype=torch.float32):
    config, settings, _ = FAMILIES[family]
    with torch.random.fork_rng(), quiet():
        torch.manual_seed(0)
        made = AutoModelForCausalLM.from_config(
            getattr(transformers, config)(**settings)
        )
        spread(made)
    return made.eval().to(dtype)


def wrap(made, dtype="float32"):
    model = wrap_model(
        made,
        name="tiny",
        reference="tiny",
        vocabulary_size=VOCABULARY,
        device="cpu",
        dtype=dtype,
    )
    assert isinstance(model, StatefulModel)
    return model


def prompt(length: int) -> list[int]:
    return [(37 * i * i + 11 * i + 3) % VOCABULARY for i in range(length)]


def ours(model, ids: list[int], new: int) -> list[int]:
    """Decode greedily as the rounds do: all but the last, then one by one."""
    runner, out = model.new_runner(len(ids) + new), []
    assert runner.prefill(ids[:-1])
    for _ in range(new):
        rows = runner.step([[*ids, *out][-1]])
        out.append(int(rows[0].argmax()))
        runner.truncate(runner.length)
    return out


def theirs(made, ids: list[int], new: int) -> list[int]:
    with quiet(), torch.inference_mode():
        # Its own generate would go on from what the last text left in the layers.
        made(input_ids=torch.tensor([ids]), use_cache=False)
        tokens = made.generate(
            torch.tensor([ids]), max_new_tokens=new, do_sample=False, eos_token_id=-1
        )
    return tokens[0, len(ids) :].tolist()


@pytest.mark.parametrize("family", FAMILIES)
def test_greedy_tokens_are_those_of_transformers_own_generate(family):
    made = module(family)
    model = wrap(made)
    assert FAMILIES[family][2] in model.layer_kind
    assert not model.facts.row_invariant
    for length in (1, 23):
        wanted = theirs(made, prompt(length), 24)
        assert ours(model, prompt(length), 24) == wanted
    assert len(set(wanted)) > 3  # a model that says one thing would show nothing


@pytest.mark.parametrize("family", ["mamba", "lfm2"])
def test_a_prompt_of_several_chunks_is_read_as_transformers_reads_it(family):
    """Mamba goes on from a state one by one only, lfm2 with many at once."""
    made, ids = module(family), prompt(PREFILL_CHUNK + 9)
    assert ours(wrap(made), ids, 12) == theirs(made, ids, 12)


def test_one_runner_leaves_no_trace_in_the_next():
    model = wrap(module("recurrent-gemma"))
    first = ours(model, prompt(20), 20)
    ours(model, prompt(31)[11:], 20)
    assert ours(model, prompt(20), 20) == first


def test_a_token_is_never_taken_back():
    runner = wrap(module("mamba")).new_runner(8)
    runner.step([1, 2, 3])
    with pytest.raises(AssertionError, match="cannot be rewound"):
        runner.truncate(2)


def test_a_narrow_dtype_is_read_one_by_one():
    model = wrap(module("lfm2", torch.bfloat16), "bfloat16")
    assert not model._stepping.continues
    assert ours(model, prompt(9), 5)


def test_the_state_of_a_recurrent_model_does_not_grow():
    assert wrap(module("mamba")).cache_bytes(10) == wrap(module("mamba")).cache_bytes(
        99
    )
    grows = wrap(module("lfm2"))
    per_token = 2 * 2 * 8 * 4  # one layer: keys and values, two heads of eight, float32
    assert grows.cache_bytes(50) - grows.cache_bytes(10) == 40 * per_token


def test_a_state_that_does_not_advance_is_refused(monkeypatch):
    def forgetful(self, ids, last_only):
        rows = self._module(input_ids=torch.tensor([list(ids)])).logits[0]
        self._length += len(ids)
        return rows

    monkeypatch.setattr(stateful_trial.StatefulRunner, "_forward", forgetful)
    with torch.inference_mode(), pytest.raises(UnsupportedModelError) as caught:
        wrap(module("mamba"))
    assert "mamba" in caught.value.sentence
    assert "does not advance" in caught.value.sentence


def test_float32_is_held_to_rounding_alone(monkeypatch):
    """A hundredth passes for the rounding of half precision, and for nothing else."""
    right = stateful_trial.StatefulRunner._forward

    def off(self, ids, last_only):
        begun = self.length > 0
        rows = right(self, ids, last_only)
        return rows * 1.01 if begun else rows

    monkeypatch.setattr(stateful_trial.StatefulRunner, "_forward", off)
    wrap(module("lfm2", torch.bfloat16), "bfloat16")
    with pytest.raises(UnsupportedModelError, match="does not advance"):
        wrap(module("lfm2"))


def test_stop_is_looked_at_while_tokens_are_read_one_by_one():
    runner, seen = wrap(module("mamba")).new_runner(600), []

    def on_chunk(read):
        seen.append(read)
        return read < 40

    assert runner.prefill([1])
    assert not runner.prefill(prompt(500), on_chunk)
    assert seen == [16, 32, 48]
    assert runner.length == 49


def test_a_state_without_room_says_what_it_would_take(monkeypatch):
    def full(**options):
        raise torch.OutOfMemoryError("nothing left")

    model = wrap(module("lfm2"))
    runner = model.new_runner(1000)
    runner.step([1])
    monkeypatch.setattr(runner, "_module", full)
    with pytest.raises(DeviceMemoryError) as caught:
        runner.step(prompt(900))
    assert caught.value.facts["needed"] == model.cache_bytes(901)
