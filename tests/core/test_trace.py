from __future__ import annotations

import dataclasses
import json
import types
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core import codec
from core.config import Coupling, DecodingConfig
from core.errors import TraceError
from core.events import (
    Candidate,
    Event,
    Lane,
    LoadProgress,
    ModelFacts,
    Noted,
    Origin,
    PairLoaded,
    RoundFinished,
    RunFinished,
    TokenOutcome,
)
from core.machine import describe_machine
from core.redaction import last_component, without_secrets
from core.trace import (
    EVENT_TYPES,
    SCHEMA,
    Trace,
    TraceHeader,
    TraceWriter,
    read_trace,
    write_trace,
)

FACTS = ModelFacts("tiny", "tiny", 10, 1, 5, 64, "cpu", "float32", 40, True)
CONFIG = DecodingConfig(
    lookahead=7, temperature=0.7, coupling=Coupling.SHARED_NOISE, stop=("\n", "é")
)
HEADER = TraceHeader(
    FACTS, None, CONFIG, describe_machine("cpu"), "2026-11-30", "A run"
)
NOTE = Noted("r", Lane.PLAIN, 3, "The draft's context is full.")


def strategy(hint: Any) -> st.SearchStrategy[Any]:
    """Build values from a type hint, so that no event class can be forgotten."""
    if get_origin(hint) is types.UnionType:
        return st.one_of([strategy(kind) for kind in get_args(hint)])
    if get_origin(hint) is tuple:
        return st.lists(strategy(get_args(hint)[0]), max_size=2).map(tuple)
    if hint is DecodingConfig:
        return st.sampled_from([DecodingConfig(), CONFIG])
    if dataclasses.is_dataclass(hint):
        hints = get_type_hints(hint)
        return st.builds(hint, **{n: strategy(h) for n, h in hints.items()})
    if issubclass(hint, Enum):
        return st.sampled_from(hint)
    return PLAIN[hint]


# Texts without slashes: those that are paths are shortened on purpose (tested below).
PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    type(None): st.none(),
    str: st.text(st.characters(exclude_characters="/\\"), max_size=5),
    int: st.integers(-(2**60), 2**60),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
}


def saved(path: Path, *events: Event) -> Path:
    write_trace(path, HEADER, events)
    return path


@pytest.mark.parametrize("kind", EVENT_TYPES.values(), ids=EVENT_TYPES)
@given(data=st.data())
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_event_comes_back_as_it_went(
    kind: type, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
):
    event = data.draw(strategy(kind))
    path = saved(tmp_path_factory.getbasetemp() / f"{kind.__name__}.jsonl", event)
    assert read_trace(path) == Trace(HEADER, (event,))


def test_the_union_of_events_is_covered():
    assert set(EVENT_TYPES.values()) == set(get_args(Event))
    assert len(EVENT_TYPES) == len(get_args(Event))


def test_a_header_alone_is_a_trace(tmp_path: Path):
    assert read_trace(saved(tmp_path / "a.jsonl")) == Trace(HEADER, ())


def test_events_are_on_disk_before_the_writer_is_closed(tmp_path: Path):
    path = tmp_path / "a.jsonl"
    with TraceWriter(path, HEADER) as writer:
        writer.append(NOTE)
        assert read_trace(path).events == (NOTE,)
        writer.append(NOTE)
        assert read_trace(path).events == (NOTE, NOTE)


def test_closing_twice_is_fine(tmp_path: Path):
    writer = TraceWriter(tmp_path / "a.jsonl", HEADER)
    writer.close()
    writer.close()


@pytest.mark.parametrize("missing", [1, 2, 20])
def test_a_last_line_cut_in_the_middle_is_left_out_and_noted(
    tmp_path: Path, missing: int
):
    path = saved(tmp_path / "a.jsonl", NOTE, NOTE)
    path.write_bytes(path.read_bytes()[: -missing - 1])
    trace = read_trace(path)
    assert trace.events == (NOTE,)
    assert len(trace.notes) == 1
    assert "cut off" in trace.notes[0]


def test_a_whole_last_line_without_its_end_is_kept(tmp_path: Path):
    path = saved(tmp_path / "a.jsonl", NOTE)
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    assert read_trace(path) == Trace(HEADER, (NOTE,))


@pytest.mark.parametrize(
    "garbage",
    [
        b"",
        b"\n",
        b"hello",
        b"\x00\xff\xfe" * 50,
        b"[1, 2]",
        b"{}",
        b'{"format": "other", "schema": 1}',
        b"[" * 100_000,
        b'{"schema": 1e999}',
    ],
)
def test_garbage_is_refused_in_one_sentence(tmp_path: Path, garbage: bytes):
    path = tmp_path / "garbage.jsonl"
    path.write_bytes(garbage)
    with pytest.raises(TraceError, match=r"^garbage.jsonl is not a Draftrace trace; "):
        read_trace(path)


def edited(path: Path, number: int, **changes: object) -> Path:
    lines = path.read_text().splitlines()
    lines[number] = json.dumps({**json.loads(lines[number]), **changes})
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("schema", [SCHEMA + 1, 0, None, "1", True, [1]])
def test_a_schema_that_is_not_ours_is_named(tmp_path: Path, schema: object):
    path = edited(saved(tmp_path / "a.jsonl"), 0, schema=schema)
    with pytest.raises(TraceError, match=r"trace schema .* newer Draftrace\.$"):
        read_trace(path)


@pytest.mark.parametrize(
    "change",
    [
        {"event": "Unheard"},
        {"event": None},
        {"position": "3"},
        {"position": True},
        {"position": 1.5},
        {"position": None},
        {"lane": "middle"},
        {"sentence": 4},
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, change: dict[str, object]):
    path = edited(saved(tmp_path / "a.jsonl", NOTE, NOTE), 2, **change)
    with pytest.raises(TraceError, match=r"damaged in line 3; it cannot") as caught:
        read_trace(path)
    assert caught.value.detail


def test_a_field_that_is_missing_is_damage(tmp_path: Path):
    path = saved(tmp_path / "a.jsonl", NOTE)
    path.write_text(path.read_text().replace('"position"', '"somewhere"'))
    with pytest.raises(TraceError, match="damaged in line 2"):
        read_trace(path)


def test_settings_outside_their_limits_are_damage(tmp_path: Path):
    path = saved(tmp_path / "a.jsonl")
    path.write_text(path.read_text().replace('"lookahead":7', '"lookahead":700'))
    with pytest.raises(TraceError, match="damaged in line 1") as caught:
        read_trace(path)
    assert "700" in caught.value.detail


def test_fields_of_a_later_version_are_passed_over(tmp_path: Path):
    path = edited(saved(tmp_path / "a.jsonl", NOTE), 1, colour="blue")
    assert read_trace(path).events == (NOTE,)


def test_a_missing_file_and_a_folder_are_one_sentence(tmp_path: Path):
    for path in (tmp_path / "none.jsonl", tmp_path):
        with pytest.raises(TraceError, match=r"^Cannot read the trace .*\.$"):
            read_trace(path)


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "no" / "a.jsonl", tmp_path / "file" / "a.jsonl"):
        with pytest.raises(TraceError, match=r"^Cannot write the trace .*\.$"):
            write_trace(path, HEADER, ())
        with pytest.raises(TraceError, match=r"^Cannot write the trace .*\.$"):
            TraceWriter(path, HEADER)


def broken_round() -> RoundFinished:
    hint = strategy(RoundFinished).example()
    return dataclasses.replace(hint, clock_ms=float("nan"))


@pytest.mark.filterwarnings("ignore::hypothesis.errors.NonInteractiveExampleWarning")
def test_a_failed_save_keeps_the_older_file(tmp_path: Path):
    path = saved(tmp_path / "a.jsonl", NOTE)
    with pytest.raises(TraceError, match="RoundFinished cannot be written"):
        write_trace(path, HEADER, [broken_round()])
    assert read_trace(path).events == (NOTE,)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_no_number_that_json_lacks_is_written(value: float):
    token = TokenOutcome(1, "a", Origin.PLAIN, 0.5, margin=value)
    assert codec.encode(token)["margin"] is None
    with pytest.raises(codec.CodecError):
        codec.encode(Candidate(1, "a", value))


def test_a_value_that_is_no_event_is_refused():
    for value in ({"a": 1}, [1], {1}, b"a", object()):
        with pytest.raises(codec.CodecError):
            codec.encode(value)


def test_lone_surrogates_and_line_ends_survive(tmp_path: Path):
    text = "a\ud800\u2028\r\n\x00é"
    token = TokenOutcome(1, text, Origin.PLAIN)
    event = dataclasses.replace(
        RunFinished("r", Lane.PLAIN, 0, summary_of(text)), error="why"
    )
    path = saved(tmp_path / "a.jsonl", event)
    assert read_trace(path).events == (event,)
    assert codec.decode(TokenOutcome, codec.encode(token)) == token


def summary_of(text: str) -> Any:
    from core.events import Counts, LaneSummary, StopReason

    return LaneSummary(text, (1,), StopReason.EOS, Counts(), None, None, None, 1.0)


def test_access_tokens_and_full_paths_stay_at_home(tmp_path: Path):
    secret = "hf_" + "a1B2" * 8
    home = "/home/someone/models/tiny"
    facts = dataclasses.replace(FACTS, reference=home, name="C:\\Users\\me\\tiny")
    sentence = f"Read {home}/model.safetensors with {secret}."
    events = (
        PairLoaded(facts, facts, (sentence,)),
        LoadProgress(sentence, detail=sentence),
        Noted("r", Lane.PLAIN, 0, sentence),
        RunFinished("r", Lane.PLAIN, 0, summary_of("text"), error=sentence),
    )
    path = tmp_path / "a.jsonl"
    write_trace(path, TraceHeader(facts, None, CONFIG, None, title=sentence), events)
    written = path.read_text()
    for word in (secret, "someone", "Users", "home", "models"):
        assert word not in written
    assert "Read model.safetensors with" in written
    assert read_trace(path).header.target == FACTS


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("12 tokens/s at 1/2", "12 tokens/s at 1/2"),
        ("see https://example.org/a/b", "see https://example.org/a/b"),
        ("in '~/models/tiny'", "in 'tiny'"),
        ("file:///home/me/x.gguf", "x.gguf"),
        (r"C:\Users\me\x.gguf", "x.gguf"),
        (r"\\server\share\x", "x"),
        ("/home/me/", "…"),
        ("Authorization: Bearer abc.def", "Authorization: Bearer …"),
        ("hf_hub_download failed", "hf_hub_download failed"),
    ],
)
def test_what_a_sentence_may_say(text: str, kept: str):
    assert without_secrets(text) == kept


@pytest.mark.parametrize(
    ("reference", "kept"),
    [
        ("demo", "demo"),
        ("org/model", "model"),
        ("/a/b/model/", "model"),
        (r"C:\a\model.gguf", "model.gguf"),
        ("", ""),
    ],
)
def test_a_reference_keeps_its_last_part(reference: str, kept: str):
    assert last_component(reference) == kept
