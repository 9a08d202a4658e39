"""A report stands by itself, shows text as text, and gives its trace back."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

import resources
from core.cli import report as command
from core.errors import TraceError
from core.events import Lane, RaceFinished, RoundFinished, RunFinished
from core.lab.chrome_trace import chrome_events, write_chrome_trace
from core.lab.report import read_report, report_html, write_report
from core.lab.report_facts import fold
from core.lab.svg import Curve, Plot, draw, ticks
from core.trace import read_trace, write_trace

EVIL = '</script><b onload="x">{{trace}} & <!-- "\''


@pytest.fixture(scope="module")
def race():
    return read_trace(resources.path("demo/race.jsonl"))


class Page(HTMLParser):
    """Checks that every element is closed, and keeps what a reader would meet."""

    EMPTY = frozenset({"meta", "path", "rect", "polyline"})

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words += data if self.open[-1:] not in (["script"], ["style"]) else ""


def test_a_report_is_well_formed_and_reaches_for_nothing(race):
    page = Page(report_html(race.header, race.events))
    assert page.open == []
    names = {name for name, _ in page.attributes}
    assert not names & {"src", "srcset", "onload", "onclick", "action"}
    links = [v for n, v in page.attributes if n in ("href", "xlink:href")]
    assert links == []  # the one link is made of what the page holds
    assert "link" not in page.tags
    text = report_html(race.header, race.events)
    assert "url(" not in text
    assert "://" not in text.split('id="trace"')[0]


def test_a_report_tells_the_numbers_of_the_race(race):
    text = Page(report_html(race.header, race.events)).words
    last = race.events[-1]
    assert isinstance(last, RaceFinished)
    assert f"{last.speedup.median:.2f}×" in text
    assert f"{last.speedup.low:.2f}× to {last.speedup.high:.2f}×" in text
    assert f"{last.plain.ms_per_token:.2f}" in text
    assert race.header.machine.processor in text
    assert last.speculative.text.split("\n")[0][:40] in text
    assert "Temperature" in text


def test_a_report_fits_a_phone_and_white_paper(race):
    """At 420 pixels the plots were cut, on paper the last column of the models."""
    text = report_html(race.header, race.events)
    least = [int(width) for width in re.findall(r"minmax\((\d+)px", text)]
    assert max(least, default=0) <= 340, "a column wider than a phone"
    assert "(prefers-color-scheme: dark)" in text
    assert "@media (prefers-color-scheme: dark)" not in text, "dark on paper, too"
    models = text.split("<h2>Models</h2>")[1].split("</table>")[0]
    assert re.findall(r"<th>(.*?)</th>", models) == ["", "target", "draft"]
    assert f"<tr><td>name</td><td>{race.header.target.name}</td>" in models


def test_text_of_a_model_stays_text_and_comes_back(race, tmp_path):
    events = tuple(_with_text(e) for e in race.events)
    path = tmp_path / "evil.html"
    write_report(path, race.header, events)
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    assert page.open == []
    assert "b" not in page.tags[: page.tags.index("figure")]
    assert page.tags.count("script") == 2
    assert EVIL in page.words
    back = read_report(path)
    assert back.events == events
    assert back.header == race.header


def _with_text(event):
    if isinstance(event, RoundFinished):
        tokens = tuple(replace(t, text=EVIL) for t in event.tokens)
        return replace(event, tokens=tokens)
    return event


def test_a_page_without_a_trace_is_refused_in_one_sentence(tmp_path):
    for name, content in (("a.html", b"<p>Hello"), ("b.html", b"\xff\xfe\x00")):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(TraceError, match="holds no trace"):
            read_report(path)
    with pytest.raises(TraceError, match="Cannot read none"):
        read_report(tmp_path / "none.html")


def test_a_run_that_broke_off_has_its_report_too(race, tmp_path):
    """No end, no verdict, and a lane without a single round."""
    begun = [e for e in race.events if not isinstance(e, RunFinished | RaceFinished)]
    Page(report_html(race.header, begun))
    first = next(i for i, e in enumerate(begun) if isinstance(e, RoundFinished))
    page = Page(report_html(race.header, begun[:first]))
    assert "nothing was tested" in page.words
    with pytest.raises(TraceError, match=r"Cannot write no\.html"):
        write_report(tmp_path / "missing" / "no.html", race.header, begun)


def test_facts_are_those_of_the_last_repeat(race):
    facts = fold(race.events)
    ended = [e for e in race.events if isinstance(e, RunFinished)]
    for lane in Lane:
        last = [e for e in ended if e.lane is lane][-1]
        assert facts.lanes[lane].statistics.counts == last.summary.counts
        assert len(facts.lanes[lane].tokens) == last.summary.counts.emitted
    assert len(facts.ends) == len(ended) - 2  # the warm-up is not counted


def test_drawings_are_svg_with_numbers_on_their_axes():
    curve = Curve("a < b", "accepted", [(1, 10.0), (2000, 40.0)], "6 4")
    for plot in (
        Plot('T "1" <', "token", "ms", (curve,)),
        Plot("T", "place", "%", (), (50.0, None, 25.0), top=100.0),
        Plot("T", "x", "y", empty="no <round> yet"),
    ):
        root = ElementTree.fromstring(draw(plot))
        words = [e.text or "" for e in root.iter("text")]
        assert plot.empty in words or {plot.across, plot.up} <= set(words)
    assert ticks(43.0) == [0, 10, 20, 30, 40]


def test_a_profiler_gets_every_phase_in_microseconds(race, tmp_path):
    entries = list(chrome_events(race.events))
    whole = [e for e in entries if e["ph"] == "X"]
    assert {e["name"] for e in whole} == {"prefill", "draft", "verify", "rule", "other"}
    rounds = [e for e in race.events if isinstance(e, RoundFinished)]
    spent = sum(e["dur"] for e in whole if e["name"] != "prefill")
    assert spent == pytest.approx(1000 * sum(e.round_ms for e in rounds), rel=1e-6)
    names = {e["args"]["name"] for e in entries if e["name"] == "process_name"}
    assert names == {"warm-up", "repeat 1", "repeat 2", "repeat 3"}
    for lane in ((e["pid"], e["tid"]) for e in whole):
        mine = [e for e in whole if (e["pid"], e["tid"]) == lane]
        ends = [e["ts"] + e["dur"] for e in mine]
        assert all(b["ts"] >= a - 1 for a, b in zip(ends, mine[1:], strict=False))
    write_chrome_trace(tmp_path / "trace.json", race.events)
    read = json.loads((tmp_path / "trace.json").read_text())
    assert read["traceEvents"] == entries


def test_the_command_writes_both_beside_the_trace(race, tmp_path, capsys):
    trace, profile = tmp_path / "race.jsonl", tmp_path / "profile.json"
    write_trace(trace, race.header, race.events)
    options = command.parser("report").parse_args(
        [str(trace), "--chrome", str(profile)]
    )
    assert command.main(options) == 0
    assert read_report(tmp_path / "race.html").events == race.events
    assert profile.exists()
    assert str(tmp_path / "race.html") in capsys.readouterr().out
