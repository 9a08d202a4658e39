"""What only a GPU can show; skipped without one, and not run by anybody so far."""

from __future__ import annotations

import functools

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from core.config import Coupling, DecodingConfig
from core.decoding.lane import LanePlan, LaneRun
from core.drafters.draft_model import DraftModel
from core.events import Lane, RoundFinished
from core.lab.host_reads import reads_per_round
from core.runtime.captured_model import CapturedModel
from core.runtime.models import wrap_model
from core.runtime.slot import WIDTHS
from tests.core.tables import NumberTokenizer, rounds_of, summary_of

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU"),
]
VOCABULARY = 512


def _module(seed: int, dtype: torch.dtype) -> LlamaForCausalLM:
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=3 - seed,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=2048,
    )
    torch.manual_seed(seed)
    module = LlamaForCausalLM(config).eval().requires_grad_(False)
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.dim() > 1:
                parameter.mul_(3.0)
    return module.to("cuda:0", dtype)


@functools.cache
def _model(seed: int, dtype: torch.dtype = torch.float32):
    return wrap_model(
        _module(seed, dtype),
        name=f"toy {seed}",
        reference="toy",
        vocabulary_size=VOCABULARY,
        device="cuda:0",
        dtype=dtype,
    )


def _events(settings: DecodingConfig, *, on_device: bool | None = None, drafted=True):
    new_drafter = lambda room: DraftModel(_model(1), room)  # noqa: E731
    plan = LanePlan(
        run_id="gpu",
        lane=Lane.SPECULATIVE if drafted else Lane.PLAIN,
        target=_model(0),
        tokenizer=NumberTokenizer(),
        eos_ids=(),
        prompt_ids=(1, 2, 3, 4),
        settings=settings,
        new_drafter=new_drafter if drafted else None,
        on_device=on_device,
    )
    return list(LaneRun(plan, lambda: settings, lambda: False).events())


def _settings(**changes) -> DecodingConfig:
    return DecodingConfig(**{"lookahead": 4, "max_new_tokens": 48, **changes})


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_steps_are_captured_and_agree_with_the_plain_forward(dtype):
    model = _model(0, dtype)
    assert isinstance(model, CapturedModel), model.note
    ids = [(7 * i) % VOCABULARY for i in range(40)]
    with torch.inference_mode():
        inputs = torch.tensor([ids], device="cuda:0")
        wanted = _module(0, dtype)(input_ids=inputs).logits[0].float()
    runner = model.new_runner(64)
    limit = 1e-3 if dtype == torch.float32 else 0.05
    for rows in range(1, WIDTHS[-1] + 1):
        runner.truncate(min(runner.length, 20))
        runner.prefill(ids[runner.length : 20])
        gap = (runner.step(ids[20 : 20 + rows]) - wanted[20 : 20 + rows]).abs().max()
        assert gap <= limit * wanted.abs().max(), rows


@pytest.mark.parametrize("coupling", Coupling)
@pytest.mark.parametrize(
    "changes",
    [{}, {"temperature": 1.0}, {"temperature": 0.9, "top_k": 9, "top_p": 0.9}],
)
def test_a_device_decides_what_python_decides(changes, coupling):
    settings = _settings(**changes, coupling=coupling)
    decided, asked = (_events(settings, on_device=on) for on in (True, False))
    assert summary_of(decided).tokens == summary_of(asked).tokens
    assert summary_of(decided).counts == summary_of(asked).counts


def test_greedy_speculation_gives_plain_decodings_text_in_float32():
    plain, fast = (_events(_settings(), drafted=drafted) for drafted in (False, True))
    assert summary_of(plain).tokens == summary_of(fast).tokens


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_round_reads_once(temperature):
    settings = _settings(temperature=temperature)
    _events(settings)  # warm up

    def play() -> int:
        return len(rounds_of(_events(settings)))

    assert reads_per_round("cuda:0", play) == pytest.approx(1, abs=0.1)


def test_laps_are_the_devices_own():
    for event in _events(_settings(temperature=1.0)):
        if isinstance(event, RoundFinished):
            assert min(event.draft_ms, event.verify_ms, event.rule_ms) > 0
            assert event.other_ms > -1
