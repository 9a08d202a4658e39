"""A student learns the target's law, and its checkpoint is an ordinary one."""

from __future__ import annotations

import json

import pytest
import torch
from transformers import AutoModelForCausalLM, LlamaConfig

from core.distillation.acceptance import judge
from core.distillation.collecting import Texts
from core.distillation.head_loss import head_loss
from core.distillation.lessons import batches, lessons, padded
from core.distillation.losses import (
    Places,
    acceptance,
    forward_kl,
    laws,
    mixed,
    total_variation,
)
from core.distillation.student import (
    HEAD_FILE,
    Student,
    StudentShape,
    frequent_ids,
    projected_embeddings,
)
from core.distillation.training import Teacher, TrainingSettings

VOCABULARY, HEAD = 40, 24
SHAPE = StudentShape(32, 1, 48, 2, 2, HEAD)
LIKE = LlamaConfig(vocab_size=VOCABULARY, max_position_embeddings=64)
QUICK = TrainingSettings(
    passes=30, batch_ids=400, learning_rate=1e-2, judge_every=10, patience=99
)


def heads() -> torch.Tensor:
    return torch.arange(HEAD)


def new_student(seed: int = 0) -> Student:
    torch.manual_seed(1)
    embeddings = torch.randn(VOCABULARY, SHAPE.hidden) * 0.3
    return Student(SHAPE, embeddings, heads(), LIKE, seed)


def chains(first: int, rows: int = 30) -> Texts:
    """Texts of a target that says i + 1 after i with 0.8, i + 2 with 0.2."""
    random, places, start = torch.Generator().manual_seed(first), 9, 3
    ids = torch.zeros((rows, start + places), dtype=torch.int32)
    ids[:, 0] = torch.randint(0, HEAD, (rows,), generator=random)
    for i in range(1, start + places):
        jump = torch.rand(rows, generator=random) < 0.2
        ids[:, i] = (ids[:, i - 1] + 1 + jump) % HEAD
    before = ids[:, start - 1 : -1]
    return Texts(
        prompts=torch.arange(rows),
        temperatures=torch.tensor([0.0, 1.0]).repeat(rows // 2),
        prompt_length=start,
        ids=ids,
        lengths=torch.full((rows,), places, dtype=torch.int32),
        top_ids=torch.stack([(before + 1) % HEAD, (before + 2) % HEAD], dim=-1),
        top_log_probs=torch.tensor([0.8, 0.2]).log().half().expand(rows, places, 2),
    )


@pytest.fixture(scope="module")
def taught():
    return lessons([chains(1), chains(2)])


@pytest.fixture(scope="module")
def held_out():
    return lessons([chains(3)])


def test_teaching_brings_the_law_of_texts_that_were_never_seen(taught, held_out):
    pupil = new_student()
    before = judge(pupil, held_out)
    reports = list(Teacher(pupil, taught, held_out, QUICK).teach())
    after = judge(pupil, held_out)
    assert before.acceptance < 0.3
    assert after.acceptance > 0.8
    assert after.agreement > 0.95
    assert reports[-1].progress == 1
    seen = [r.judgement.acceptance for r in reports if r.judgement]
    assert after.acceptance == pytest.approx(max(seen), abs=1e-3)


def test_a_training_that_is_taken_up_again_ends_where_it_would_have(
    taught, held_out, tmp_path
):
    settings = TrainingSettings(passes=4, batch_ids=400, judge_every=3)
    whole = new_student()
    list(Teacher(whole, taught, held_out, settings).teach())
    file = tmp_path / "state.pt"
    first = Teacher(new_student(), taught, held_out, settings, file)
    for report in first.teach():
        if report.step == 6:  # the state was just written down
            break
    again = Teacher(new_student(seed=9), taught, held_out, settings, file)
    steps = [report.step for report in again.teach()]
    assert steps[0] == 7
    for one, other in zip(whole.parameters(), again.student.parameters(), strict=True):
        assert torch.allclose(one, other, atol=1e-5)


def test_stopping_keeps_the_best_that_was_seen(taught, held_out):
    pupil, seen = new_student(), []
    teacher = Teacher(pupil, taught, held_out, QUICK)
    for report in teacher.teach(lambda: len(seen) == 2):
        if report.judgement:
            seen.append(report.judgement.acceptance)
    assert judge(pupil, held_out).acceptance == pytest.approx(max(seen), abs=1e-3)


@torch.inference_mode()
def test_the_checkpoint_is_one_that_anybody_loads(tmp_path):
    pupil = new_student()
    pupil.save(tmp_path / "draft", torch.float32)
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path / "draft", dtype="float32")
    ids = torch.randint(0, VOCABULARY, (2, 9))
    wanted = pupil.logits(pupil(ids)).float()
    found = loaded(ids).logits[..., heads()]
    assert (found - wanted).norm() < 0.02 * wanted.norm()  # taught in bfloat16
    kept = json.loads((tmp_path / "draft" / HEAD_FILE).read_text())["ids"]
    assert kept == heads().tolist()


def test_rows_without_logits_stay_as_they_were(taught, held_out):
    pupil = new_student()
    before = pupil.embeddings()
    settings = TrainingSettings(passes=1, batch_ids=400)
    list(Teacher(pupil, taught, held_out, settings).teach())
    after = pupil.embeddings()
    assert torch.equal(before[HEAD:], after[HEAD:])
    assert not torch.equal(before[:HEAD], after[:HEAD])


def test_losses_are_those_of_the_laws():
    target = torch.tensor([[0.5, 0.3], [0.9, 0.1]])
    rows = torch.tensor([[0, 1], [2, -1]])
    draft = torch.tensor([[0.5, 0.3, 0.1, 0.1], [0.1, 0.2, 0.6, 0.1]])
    q, p = laws(draft.log(), Places(rows, target))
    assert torch.allclose(q, torch.tensor([[0.5, 0.3, 0.2], [0.6, 0.0, 0.4]]))
    assert torch.allclose(p, torch.tensor([[0.5, 0.3, 0.2], [0.9, 0.1, 0.0]]))
    assert torch.allclose(acceptance(q, p), torch.tensor([0.8, 0.6]))
    assert total_variation(q, p) == pytest.approx((0.0 + 0.4) / 2)
    assert forward_kl(p, p) == pytest.approx(0, abs=1e-6)
    assert forward_kl(q, p) > 0.5


def test_the_loss_in_one_walk_has_the_value_and_slopes_of_the_plain_one():
    torch.manual_seed(0)
    states = (0.5 * torch.randn(150, 16)).requires_grad_()
    head = torch.randn(HEAD, 16, requires_grad=True)
    rows = torch.stack([torch.randperm(HEAD)[:8] for _ in range(150)])
    rows[::7, 3] = -1  # an id that the student cannot propose
    target = torch.softmax(torch.randn(150, 12), -1)[:, :8]
    places = Places(rows, target)
    plain = mixed(*laws(states @ head.T, places), 0.3)
    found = head_loss(states, head, places, 0.3)
    assert torch.allclose(found, plain, rtol=1e-2)
    wanted = torch.autograd.grad(plain, (states, head))
    for one, other in zip(
        wanted, torch.autograd.grad(found, (states, head)), strict=True
    ):
        assert (one - other).norm() < 0.02 * one.norm()


def test_a_student_in_teaching_computes_what_transformers_does():
    pupil = new_student()
    ids = torch.randint(0, HEAD, (3, 11))
    wanted = pupil.body(inputs_embeds=pupil.head[ids], use_cache=False)
    found, wanted = pupil(ids).float(), wanted.last_hidden_state
    assert (found - wanted).norm() < 0.02 * wanted.norm()


def test_a_batch_has_all_lessons_once_and_no_more_ids_than_asked(taught):
    groups = list(batches(taught, 100, seed=4))
    assert sorted(id(x) for g in groups for x in g) == sorted(map(id, taught))
    assert all(padded(g).numel() <= 100 for g in groups)
    assert [list(map(id, g)) for g in batches(taught, 100, seed=5)] != [
        list(map(id, g)) for g in groups
    ]


def test_the_head_holds_the_frequent_ids_and_those_that_must_be_there():
    counts = torch.tensor([5.0, 0.0, 9.0, 1.0, 7.0])
    assert frequent_ids(counts, 3, always=[1]).tolist() == [1, 2, 4]


def test_projected_embeddings_keep_products_as_far_as_they_can():
    torch.manual_seed(0)
    flat = torch.randn(50, 4) @ torch.randn(4, 16)  # it lies in four dimensions
    small = projected_embeddings(flat, 6)
    assert small.shape == (50, 6)
    assert torch.allclose(small @ small.T, flat @ flat.T, atol=1e-3)
