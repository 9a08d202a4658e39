"""The law of outputs of rounds that a device decides, summed over all their paths.

Here they are played on a CPU. On a GPU the same law follows from
``test_device_round``'s equality of every token with the rounds decided in Python.
"""

from __future__ import annotations

import pytest

from core.config import DecodingConfig
from core.decoding import device_round
from core.lab.device_branches import play
from tests.core.law.cases import SETTINGS, TABLES, Case

EXACT = 1e-12


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
