"""The draft checkpoint as a drafter: what it reads, draws and forgets."""

from __future__ import annotations

import torch

from core.config import Coupling, DecodingConfig
from core.drafters.draft_model import DraftModel
from core.drafters.protocol import Prefix
from core.sampling.draws import KeyedDraws
from core.sampling.streams import Purpose
from tests.core.tables import random_logits, table

MODEL = table(random_logits(5, 2), 5)
SETTINGS = DecodingConfig(temperature=1.0)


class WatchedDraws(KeyedDraws):
    """Remembers what was asked for."""

    def __init__(self) -> None:
        super().__init__(0)
        self.asked: list[tuple[Purpose, int]] = []

    def choose(self, purpose, position, weights):
        self.asked.append((purpose, position))
        return super().choose(purpose, position, weights)


def test_each_proposal_comes_with_the_distribution_it_was_drawn_from():
    drafter = DraftModel(MODEL, 50)
    drafter.prefill([0, 1])
    proposal = drafter.propose(Prefix([0, 1, 2], 3), 4, SETTINGS, KeyedDraws(3))
    for place in range(4):
        prefix = (0, 1, 2, *proposal.ids[:place])
        expected = MODEL.row(prefix).softmax(-1)
        assert torch.allclose(proposal.distributions[place], expected)


def test_a_proposal_without_chance_is_certain_and_comes_with_its_scores():
    drafter = DraftModel(MODEL, 50)
    greedy = DecodingConfig(temperature=0)
    proposal = drafter.propose(Prefix([0, 1, 2], 3), 4, greedy, KeyedDraws(3))
    assert proposal.distributions is None
    for place, token_id in enumerate(proposal.ids):
        row = MODEL.row((0, 1, 2, *proposal.ids[:place]))
        assert torch.equal(proposal.scores[place], row)
        assert token_id == int(row.argmax())


def test_each_place_uses_the_draft_stream_at_its_own_position():
    for coupling, purpose in (
        ("maximal", Purpose.DRAFT),
        ("shared-noise", Purpose.TARGET),
    ):
        draws = WatchedDraws()
        settings = DecodingConfig(temperature=1.0, coupling=Coupling(coupling))
        DraftModel(MODEL, 50).propose(Prefix([0, 1, 2, 3], 2), 3, settings, draws)
        assert draws.asked == [(purpose, 2), (purpose, 3), (purpose, 4)]


def test_it_catches_up_with_what_it_missed():
    for missed in (1, 2, 16, 17, 40):
        ids = [i % 5 for i in range(missed)]
        drafter = DraftModel(MODEL, 99)
        assert drafter._runner.length == 0
        proposal = drafter.propose(Prefix(ids, 1), 2, SETTINGS, KeyedDraws(0))
        expected = MODEL.row(tuple(ids)).softmax(-1)
        assert torch.allclose(proposal.distributions[0], expected)


def test_it_forgets_what_was_not_committed():
    drafter = DraftModel(MODEL, 50)
    drafter.propose(Prefix([0, 1], 1), 4, SETTINGS, KeyedDraws(0))
    drafter.truncate(2)
    assert drafter._runner.held == [0, 1]
    drafter.truncate(30)
    assert drafter._runner.held == [0, 1]


def test_its_room_is_its_own_context():
    model = table(random_logits(5, 2), 5, context_length=10)
    drafter = DraftModel(model, 50)
    assert [drafter.room(n) for n in (4, 10, 30)] == [6, 0, 0]
    drafter.propose(Prefix([0] * 4, 1), 6, SETTINGS, KeyedDraws(0))


def test_a_prompt_longer_than_its_context_is_read_as_far_as_it_goes():
    model = table(random_logits(5, 2), 5, context_length=10)
    drafter = DraftModel(model, 50)
    assert drafter.prefill([1] * 30)
    assert drafter._runner.length == 10


def test_a_wide_head_never_proposes_beyond_the_targets_tokenizer():
    """H4: a draft may know ids that the target does not."""
    wide = table(lambda p: torch.tensor([0.0, 1, 2, 3, 90, 95]), 6)
    drafter = DraftModel(wide, 50, vocabulary=4)
    for seed in range(20):
        proposal = drafter.propose(Prefix([0], 1), 3, SETTINGS, KeyedDraws(seed))
        assert max(proposal.ids) < 4
        assert [len(law) for law in proposal.distributions] == [4, 4, 4]
        drafter.truncate(1 - 1)
