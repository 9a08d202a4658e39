"""A student is shown where a text repeats itself, and copies what it has never seen."""

from __future__ import annotations

import pytest
import torch
from transformers import LlamaConfig

from core.distillation.acceptance import judge
from core.distillation.collecting import Texts
from core.distillation.copying import LONGEST, continuations, copying_loss
from core.distillation.lessons import Lesson, lessons
from core.distillation.student import Student, StudentShape
from core.distillation.training import Teacher, TrainingSettings

VOCABULARY = 32


def test_the_longest_repetition_says_what_may_follow():
    #                     0  1  2  3  4  5  6
    ids = torch.tensor([[5, 1, 7, 6, 1, 5, 1]])
    found = continuations(ids)[0]
    assert found.nonzero().tolist() == [
        [4, 2],  # 1 at 1, so what stands at 2
        [5, 1],  # 5 at 0
        [6, 2],  # 5 1 at 0 and 1, which beats the lone 1 at 4
    ]


def test_repetitions_that_are_equally_long_count_all():
    found = continuations(torch.tensor([[3, 4, 3, 5, 3]]))[0]
    assert found[4].nonzero()[:, 0].tolist() == [1, 3]


def test_no_repetition_is_longer_than_the_longest_looked_for():
    period = list(range(LONGEST + 2))
    found = continuations(torch.tensor([period * 3]))[0, -1]
    whole, twice = len(period), 2 * len(period)
    assert found.nonzero()[:, 0].tolist() == [whole, twice]


@pytest.mark.parametrize("rows", [1, 3])
def test_places_before_the_text_and_behind_it_are_never_looked_at(rows):
    ids = torch.randint(0, 3, (rows, 12), generator=torch.Generator().manual_seed(2))
    found = continuations(ids)
    assert not found.triu(1).any()
    assert not found[:, :, 0].any(), "nothing stands before the first place"


def looks(ids: torch.Tensor, heads: int = 3) -> list[torch.Tensor]:
    """Attention of four layers whose heads all look where they should."""
    n = ids.shape[1]
    wanted = continuations(ids).float()
    copying = (wanted + 1e-9) / (wanted + 1e-9).sum(-1, keepdim=True)
    back = [torch.eye(n).roll(-k, 1).tril() for k in (1, 2)]
    first = torch.stack([*back, torch.eye(n)][:heads])[None].expand(
        len(ids), -1, -1, -1
    )
    idle = torch.full_like(first, 1 / n)
    later = copying[:, None].expand(-1, heads, -1, -1)
    return [first, idle, later, later]


def test_heads_that_look_where_they_should_lose_nothing():
    ids = torch.tensor([[5, 1, 7, 5, 1, 7, 0, 0], [2, 2, 2, 4, 2, 2, 2, 4]])
    lengths = torch.tensor([6, 8])
    right = looks(ids)
    assert float(copying_loss(ids, lengths, right)) == pytest.approx(0, abs=1e-5)
    for layer in (0, 2, 3):
        wrong = list(right)
        wrong[layer] = torch.eye(8).expand_as(right[layer])
        assert float(copying_loss(ids, lengths, wrong)) > 1
    padding = [layer.clone() for layer in right]
    for layer in padding:
        layer[0, :, 6:] = 0  # behind the end of the first text
    assert float(copying_loss(ids, lengths, padding)) == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize("heads", [1, 2])
def test_students_of_few_heads_and_texts_without_repetitions_are_fine(heads):
    ids = torch.arange(6)[None]
    lost = copying_loss(ids, torch.tensor([6]), looks(ids, heads))
    assert float(lost) == pytest.approx(0, abs=1e-5)
    one_layer = looks(ids, heads)[:1]
    assert float(copying_loss(ids, torch.tensor([6]), one_layer)) == 0


def echoes(seed: int, rows: int = 64) -> list[Lesson]:
    """Texts of a target that repeats the random prompt, of 5 to 12 ids, to its end."""
    random, n = torch.Generator().manual_seed(seed), 5 + seed % 8
    prompt = torch.rand(rows, VOCABULARY, generator=random).argsort(-1)[:, :n]
    ids = torch.cat([prompt, prompt], dim=1).int()
    return lessons(
        [
            Texts(
                prompts=torch.arange(rows),
                temperatures=torch.zeros(rows),
                prompt_length=n + 1,
                ids=ids,
                lengths=torch.full((rows,), n - 1, dtype=torch.int32),
                top_ids=ids[:, n + 1 :, None],
                top_log_probs=torch.full((rows, n - 1, 1), -0.01).half(),
            )
        ]
    )


def taught_to_echo(copying: float) -> float:
    torch.manual_seed(1)
    shape = StudentShape(64, 2, 64, 4, 4, VOCABULARY)
    like = LlamaConfig(vocab_size=VOCABULARY, max_position_embeddings=64)
    embeddings = torch.randn(VOCABULARY, shape.hidden) * 0.3
    pupil = Student(shape, embeddings, torch.arange(VOCABULARY), like)
    settings = TrainingSettings(passes=4, batch_ids=320, copying=copying)
    taught = [lesson for seed in range(16) for lesson in echoes(seed)]
    held_out = [lesson for seed in range(16, 24) for lesson in echoes(seed, 8)]
    list(Teacher(pupil, taught, held_out, settings).teach())
    return judge(pupil, held_out).agreement


def test_a_student_that_was_shown_where_to_look_copies_what_is_new_to_it():
    assert taught_to_echo(1.0) > 0.9
    assert taught_to_echo(0.0) < 0.5
