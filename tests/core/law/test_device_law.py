"""The law of outputs of rounds that a device decides, summed over all their paths.

Here they are played on a CPU. On a GPU the same law follows from
``test_device_round``'s equality of every token with the rounds decided in Python.
"""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from core.config import DecodingConfig
from core.decoding import device_round
from core.decoding.speculative import Round
from core.decoding.speculative import Sequence as RoundSequence
from core.lab.enumeration import BranchingDraws
from core.sampling.on_device import Drawn
from core.sampling.streams import Purpose
from tests.core.law.cases import SETTINGS, TABLES, Case

EXACT = 1e-12


class BranchingDeviceDraws:
    """The enumerator's branches, answered with tensors."""

    def __init__(self, draws: BranchingDraws) -> None:
        self.on_host = draws

    def choose(self, purpose: Purpose, position: int, weights: Tensor) -> Drawn:
        choices = [
            self.on_host.choose(purpose, position + i, row)
            for i, row in enumerate(weights)
        ]
        return Drawn(
            torch.tensor([c.token_id for c in choices]),
            torch.tensor([c.margin for c in choices], dtype=torch.float64),
        )

    def correct(
        self, position: int, place: Tensor, is_bonus: Tensor, weights: Tensor
    ) -> Drawn:
        purpose = Purpose.TARGET if bool(is_bonus) else Purpose.RESIDUAL
        return self.choose(purpose, position + int(place), weights)

    def survivors(
        self, position: int, draft: Tensor, target: Tensor
    ) -> tuple[Tensor, Tensor]:
        count, numbers = self.on_host.survivors(
            position, draft.tolist(), target.tolist()
        )
        uniforms = torch.zeros(len(draft), dtype=torch.float64)
        uniforms[: len(numbers)] = torch.tensor(numbers, dtype=torch.float64)
        return torch.tensor([count]), uniforms


def play(
    sequence: RoundSequence, settings: DecodingConfig, draws: BranchingDraws
) -> Round:
    """Play a round as a device would."""
    return device_round.play_round(sequence, settings, BranchingDeviceDraws(draws))


@pytest.mark.parametrize("settings", ["plain", "greedy"])
@pytest.mark.parametrize("drafter", ["model", "certain"])
def test_a_device_keeps_plain_decodings_law(settings, drafter):
    for tables in ("random", "disjoint", "zeros"):
        case = Case(3, 1, tables, settings, drafter, "eos")
        assert case.error(play) < EXACT, case


PLAYED = [
    name
    for name, changes in SETTINGS.items()
    if device_round.can_play(DecodingConfig(**changes))
]


@pytest.mark.law
@pytest.mark.parametrize("settings", PLAYED)
@pytest.mark.parametrize("drafter", ["model", "lookup", "narrow", "wide"])
def test_every_small_case_on_a_device_has_plain_decodings_law(settings, drafter):
    for n, tables in enumerate(TABLES):
        for lookahead in range(3):
            ending = ("limit", "eos", "stop")[(n + lookahead) % 3]
            case = Case(3, lookahead, tables, settings, drafter, ending)
            assert case.error(play) < EXACT, case


def test_a_wrong_rule_on_a_device_is_noticed(monkeypatch):
    """Which shows that these tests can fail: the correction comes from the target."""
    monkeypatch.setattr(
        device_round.acceptance, "residual_distribution", lambda draft, target: target
    )
    case = Case(3, 1, "random", "plain", "model", "limit")
    assert case.error(play) > 1e-3
