"""A whole session on the path that CUDA takes, on a CPU: load, run, race, verify."""

from __future__ import annotations

import gc

import pytest

from core.config import Coupling, DecodingConfig, DecodingRequest
from core.control import Control
from core.decoding import device_records, device_round
from core.decoding.lane import LanePlan
from core.events import PairLoaded, RaceFinished
from core.lab.checks import ChecksFinished
from core.runtime import captured_model, models
from core.session import Session
from tests.core.tiny_sessions import PROMPT, checkpoint, decode, load, pair, plain


@pytest.fixture
def captured(monkeypatch):
    """Take a CPU for a GPU that records nothing; count the slots that are made."""
    slots, right = [], captured_model.Slot
    monkeypatch.setattr(models, "_is_on_cuda", lambda facts: True)
    monkeypatch.setattr(models, "_kernels_can_run", lambda module: False)
    monkeypatch.setattr(LanePlan, "decides_on_device", True)
    monkeypatch.setattr(
        captured_model, "Slot", lambda *a, **k: slots.append(1) or right(*a, **k)
    )
    return slots


@pytest.fixture
def folders(tmp_path):
    return checkpoint(tmp_path / "target"), checkpoint(tmp_path / "draft", seed=1)


SETTINGS = DecodingConfig(max_new_tokens=40, lookahead=3, ignore_eos=True)


def _session(target, draft=None) -> tuple[Session, PairLoaded]:
    session = Session()
    return session, load(session, pair(target, draft))


@pytest.mark.parametrize("drafted", [True, False])
def test_a_run_has_plain_decodings_text(captured, folders, drafted, monkeypatch):
    target, draft = folders
    session, loaded = _session(target, draft if drafted else None)
    notes = [note for note in loaded.notes if "untested on a GPU" in note]
    assert len(notes) == 1, "once for both models"
    rounds, right = [], device_records.play
    monkeypatch.setattr(
        device_records, "play", lambda *args: rounds.append(1) or right(*args)
    )
    found = decode(session, SETTINGS)
    assert len(rounds) == found.counts.rounds
    with monkeypatch.context() as patch:
        patch.setattr(models, "_is_on_cuda", lambda facts: False)
        patch.setattr(LanePlan, "decides_on_device", False)
        assert found.tokens == plain(target, SETTINGS).tokens


def test_races_record_nothing_anew(captured, folders):
    """Two lanes of the target and one draft; three repeats and a warm-up each."""
    session, _ = _session(*folders)
    settings = DecodingConfig(
        max_new_tokens=32,
        lookahead=3,
        ignore_eos=True,
        temperature=1.0,
        coupling=Coupling.SHARED_NOISE,
    )
    request = DecodingRequest("race", PROMPT, settings, use_chat_template=False)
    made = []
    for _ in range(2):
        *_, last = session.race(request, Control(settings))
        assert isinstance(last, RaceFinished)
        assert last.identical
        gc.collect()
        made.append(len(captured))
    assert made[0] <= 4, "one slot at load for each model, and what a race adds"
    assert made[1] == made[0]


@pytest.mark.slow
def test_verify_passes(captured, folders):
    session, _ = _session(*folders)
    request = DecodingRequest("v", PROMPT, SETTINGS, use_chat_template=False)
    *_, last = session.verify(request, Control(SETTINGS))
    assert isinstance(last, ChecksFinished)
    assert last.passed, last.checks


@pytest.mark.slow
def test_the_law_that_is_summed_is_that_of_rounds_on_the_device(
    captured, folders, monkeypatch
):
    """A mistake in these rounds alone is one that the sum notices."""
    monkeypatch.setattr(device_round, "_weights_after", _corrected_from_the_target)
    session, _ = _session(*folders)
    request = DecodingRequest("v", PROMPT, SETTINGS, use_chat_template=False)
    *_, last = session.verify(request, Control(SETTINGS))
    assert isinstance(last, ChecksFinished)
    (summed,) = (check for check in last.checks if "all paths summed" in check.name)
    assert not summed.passed


def _corrected_from_the_target(rows, survivors):
    return rows.target[survivors], survivors == len(rows.ids)


def test_a_mistake_in_the_rule_is_noticed_on_this_path_too(captured, folders):
    """The mutants replace steps of the rounds that Python decides."""
    session, _ = _session(*folders)
    request = DecodingRequest("v", PROMPT, SETTINGS, use_chat_template=False)
    events = session.verify(request, Control(SETTINGS), mutant="always_accept")
    *_, last = events
    assert isinstance(last, ChecksFinished)
    assert not last.passed
