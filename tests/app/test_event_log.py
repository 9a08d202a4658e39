"""Events of a long run leave memory and come back unchanged; steps keep their order."""

from __future__ import annotations

from dataclasses import replace

from app.event_log import EventLog, light
from app.timeline import Timeline
from app.trace_desk import TraceDesk, write
from core.config import DecodingConfig, DecodingRequest
from core.events import Lane, RoundFinished
from core.trace import read_trace
from tests.fakes import LaneScript


def run_of(rounds: int, lane: Lane = Lane.SPECULATIVE) -> list:
    script = LaneScript(DecodingRequest("r", "Say it.", DecodingConfig()), lane)
    events = list(script.started())
    for _ in range(rounds):
        events += script.round(script.config)
    return events


def test_what_left_memory_comes_back_as_it_was():
    events, log = run_of(40), EventLog(in_memory=10)
    for event in events:
        log.append(event)
    assert log.on_disk == len(events) - 10
    assert list(log) == events
    assert log[2:6] == events[2:6]
    assert log.round_of(Lane.SPECULATIVE, 3) == events[6]
    assert log.round_of(Lane.SPECULATIVE, 40) is None
    log.append(events[0])  # the next repeat begins
    assert log.round_of(Lane.SPECULATIVE, 3) is None


def test_a_run_that_is_partly_on_disk_is_saved_whole(tmp_path):
    desk = TraceDesk()
    desk._log = EventLog(in_memory=5)
    events = run_of(20)
    for event in events:
        desk.add(event)
    assert desk._log.on_disk
    path = write(tmp_path / "long.jsonl", desk, desk.events)
    assert list(read_trace(path).events) == events


def test_a_full_disk_keeps_everything_in_memory(monkeypatch, caplog):
    def full() -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    events, log = run_of(30), EventLog(in_memory=4)
    for event in events:
        log.append(event)
    assert list(log) == events
    assert caplog.text.count("stay in memory") == 1


def test_a_light_round_lacks_nothing_but_candidates():
    event = run_of(2)[-1]
    assert isinstance(event, RoundFinished)
    slim = light(event)
    assert not any(p.draft_top or p.target_top or p.residual_top for p in slim.places)
    places = tuple(
        replace(p, draft_top=(), target_top=(), residual_top=()) for p in event.places
    )
    tokens = tuple(replace(t, target_top=()) for t in event.tokens)
    assert slim == replace(event, places=places, tokens=tokens)


def test_a_race_is_walked_in_the_order_of_both_clocks():
    """The plain lane has the longer rounds here, and rounds may end together."""
    line = Timeline()
    for lane, clocks in ((Lane.SPECULATIVE, (10, 30, 30)), (Lane.PLAIN, (20, 30, 70))):
        started, *_ = run_of(0, lane)
        line.on_event(started)
        rounds = [e for e in run_of(3, lane) if isinstance(e, RoundFinished)]
        for event, clock in zip(rounds, clocks, strict=True):
            line.on_event(replace(event, clock_ms=float(clock)))
    assert len(line) == 6
    assert line.step(0) is None
    seen = [(Lane.SPECULATIVE, 0), (Lane.PLAIN, 0)]
    assert [(line.step(p).lane, line.step(p).round_index) for p in (1, 2)] == seen
    for position in range(7):
        counts = line.counts(position)
        assert sum(counts.values()) == position
        for lane, count in counts.items():
            if count:
                assert line.position_of(lane, count - 1) <= position
    assert [line.clock_ms(p) for p in (0, 1, 6)] == [0, 10, 70]
    assert [line.position_at(t) for t in (0, 10, 29.9, 30, 1000)] == [0, 1, 2, 5, 6]
    assert line.position_of(Lane.PLAIN, 3) is None
