"""The race that ships with the program is whole and says what it was made on."""

from __future__ import annotations

import pytest

import resources
from app.trace_actions import DEMO
from core.events import Lane, RaceFinished, RoundFinished, RunFinished
from core.metrics import is_consistent
from core.trace import read_trace


@pytest.fixture(scope="module")
def recording():
    return read_trace(resources.path(DEMO))


def test_it_is_a_whole_race_with_a_verdict(recording):
    assert recording.notes == ()
    last = recording.events[-1]
    assert isinstance(last, RaceFinished)
    assert last.speedup.repeats >= 3
    assert last.identical is True
    assert recording.header.machine is not None
    assert recording.header.recorded_at


def test_its_counts_add_up_in_every_lane_and_repeat(recording):
    ended = [e for e in recording.events if isinstance(e, RunFinished)]
    assert {e.lane for e in ended} == set(Lane)
    assert all(is_consistent(e.summary.counts) for e in ended)
    rounds = [e for e in recording.events if isinstance(e, RoundFinished)]
    assert sum(e.counts.rounds for e in rounds) == sum(
        e.summary.counts.rounds for e in ended
    )


def test_its_speed_up_is_the_quotient_of_its_own_lanes(recording):
    *_, last = recording.events
    plain, fast = last.plain.ms_per_token, last.speculative.ms_per_token
    assert last.speedup.low * 0.9 <= plain / fast <= last.speedup.high * 1.1


def test_it_names_no_place_of_the_machine_it_was_made_on():
    text = resources.text(DEMO)
    assert "/home/" not in text
    assert "/tmp/" not in text
