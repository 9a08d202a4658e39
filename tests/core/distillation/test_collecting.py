"""Texts that grow together are those that each prompt would have brought alone."""

from __future__ import annotations

from itertools import islice

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from core.distillation.batch_cache import ATTENTION
from core.distillation.collecting import (
    Batch,
    CollectingSettings,
    collect,
    plan_batches,
)
from core.distillation.store import TextStore, vars_of
from core.errors import ConfigurationError

END = 3
SETTINGS = CollectingSettings(max_new_tokens=12, rows=8, kept=6, seed=5)


@pytest.fixture(scope="module")
def module():
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=24,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
        initializer_range=0.4,
    )
    found = LlamaForCausalLM(config).eval()
    found.set_attn_implementation(ATTENTION)
    return found


def batch(temperature: float, rows: int = 6, length: int = 5) -> Batch:
    ids = tuple(
        tuple((7 * row + 3 * i) % 20 + 4 for i in range(length)) for row in range(rows)
    )
    return Batch(0, tuple(range(rows)), ids, (temperature,) * rows)


@torch.inference_mode()
def greedy_alone(module, prompt: tuple[int, ...]) -> list[int]:
    ids = list(prompt)
    while len(ids) < len(prompt) + SETTINGS.max_new_tokens:
        ids.append(int(module(torch.tensor([ids])).logits[0, -1].argmax()))
        if ids[-1] == END:
            break
    return ids


@torch.inference_mode()
def test_rows_that_end_early_do_not_disturb_the_others(module):
    asked = batch(0.0)
    texts = collect(module, asked, SETTINGS, [END])
    assert texts is not None
    ends = set()
    for row, prompt in enumerate(asked.ids):
        wanted = greedy_alone(module, prompt)
        count = int(texts.lengths[row])
        assert texts.ids[row, : texts.prompt_length + count].tolist() == wanted
        ends.add(count)
    assert len(ends) > 1, "all texts ended together, so nothing was dropped on the way"


@torch.inference_mode()
def test_what_is_kept_is_the_targets_law_at_each_token(module):
    asked = batch(1.0)
    texts = collect(module, asked, SETTINGS, [END])
    assert texts is not None
    for row in range(len(asked.ids)):
        count, start = int(texts.lengths[row]), texts.prompt_length
        ids = texts.ids[row, : start + count].long()
        log_probs = module(ids[None]).logits[0].log_softmax(-1)
        for place in range(count):
            wanted = log_probs[start - 1 + place].topk(SETTINGS.kept)
            assert texts.top_ids[row, place].tolist() == wanted.indices.tolist()
            found = texts.top_log_probs[row, place].float()
            assert torch.allclose(found, wanted.values, atol=2e-2)
            assert ids[start + place] in wanted.indices


def test_a_batch_is_a_function_of_its_number(module):
    asked = batch(1.0)
    once, again = (collect(module, asked, SETTINGS, [END]) for _ in range(2))
    other = collect(
        module, Batch(1, *list(vars_of(asked).values())[1:]), SETTINGS, [END]
    )
    assert torch.equal(once.ids, again.ids)
    assert not torch.equal(once.ids, other.ids)


def test_stopping_gives_no_half_batch(module):
    answers = iter([False, False, True])
    stopped = collect(module, batch(1.0), SETTINGS, [END], lambda: next(answers))
    assert stopped is None


def test_batches_hold_prompts_of_one_length_and_every_prompt_once_a_turn():
    lengths = [3] * 11 + [4] * 2 + [9]
    prompts = [(i,) * n for i, n in enumerate(lengths)]
    turn = list(islice(plan_batches(prompts, SETTINGS), 4))
    assert {p for b in turn for p in b.prompts} == set(range(len(prompts)))
    for b in turn:
        assert len({len(ids) for ids in b.ids}) == 1
        assert len(b.prompts) <= SETTINGS.rows
    alone = next(b for b in turn if len(b.ids[0]) == 9)
    assert sorted(alone.temperatures) == sorted(SETTINGS.temperatures)


def test_texts_come_back_from_the_disk_as_they_were(module, tmp_path):
    texts = collect(module, batch(1.0), SETTINGS, [END])
    store = TextStore(tmp_path, {"seed": 5, "temperatures": (0.0, 1.0)})
    store.add(7, texts)
    again = TextStore(tmp_path, {"seed": 5, "temperatures": (0.0, 1.0)})
    assert again.indices() == [7]
    for name, value in vars_of(next(again.all())).items():
        assert torch.equal(
            torch.as_tensor(value), torch.as_tensor(getattr(texts, name))
        )


def test_texts_drawn_in_another_way_are_not_mixed_in(tmp_path):
    TextStore(tmp_path, {"seed": 5})
    with pytest.raises(ConfigurationError, match=r"seed 5, not 6; choose another"):
        TextStore(tmp_path, {"seed": 6})
