"""The plots: counts, marks, looks, files, words."""

from __future__ import annotations

import csv
import statistics
import time
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QImage
from story import SETTINGS, plain_rounds, rounds_of, started

from app import theme
from app.views.elided import broken
from app.views.plot_menu import plot_menu, show_table
from app.views.plots_panel import PlotsPanel
from core.events import Lane, SettingsChanged
from tests.core.lab.costs import step_costs

pytestmark = pytest.mark.window
AFTER = replace(SETTINGS, temperature=0.9)


@pytest.fixture
def panel(show):
    return show(PlotsPanel(), 300, 720)


def feed(panel, events):
    for event in events:
        panel.on_event(event)
    panel.refresh()


def card(panel, title):
    return next(c for c in panel.cards if c.source.title == title)


def changed_at(rounds, index):
    """Return the events of a run whose settings change before a round."""
    change = SettingsChanged(
        "r", Lane.SPECULATIVE, rounds[index].position, SETTINGS, AFTER
    )
    later = [replace(r, settings=AFTER) for r in rounds[index:]]
    return [started(), *rounds[:index], change, *later]


def test_empty_plots_carry_a_word(panel):
    panel.refresh()
    words = [c._empty.text() for c in panel.cards if c._empty.isVisibleTo(c)]
    assert len(words) == len(panel.cards)
    assert "nothing tested yet" in words


def test_the_histogram_counts_rounds(panel, rounds):
    feed(panel, [started(), *rounds])
    source = card(panel, "Tokens per round").source
    measured = {n: count for n, count, _ in source.counts()}
    lengths = [len(r.tokens) for r in rounds]
    assert measured == {n: lengths.count(n) for n in range(1, 6)}
    assert source.bars.texts == [str(measured[n]) for n in range(1, 6)]
    law = [value for _, _, value in source.counts()]
    assert sum(law) == pytest.approx(len(rounds))


def test_acceptance_by_place_has_its_numbers_on_the_bars(panel, rounds):
    feed(panel, [started(), *rounds])
    kept = [r.counts.accepted for r in rounds]
    expected = [
        f"{100 * sum(k >= i for k in kept) / len(kept):.0f}" for i in range(1, 5)
    ]
    assert card(panel, "Acceptance by place").source.bars.texts == expected


def test_plots_count_since_the_last_change_and_say_so(panel, rounds):
    feed(panel, changed_at(rounds, 9))
    source = card(panel, "Tokens per round").source
    assert sum(count for _, count, _ in source.counts()) == len(rounds) - 9
    label = (
        card(panel, "Tokens per round").plot.getPlotItem().getAxis("bottom").labelText
    )
    assert label.endswith("since T 0.7→0.9")


def test_a_change_of_settings_is_marked_in_every_plot_over_time(panel, rounds):
    feed(panel, changed_at(rounds, 9))
    for title in ("Time per token", "Tokens per second", "Time per round"):
        marks = card(panel, title).source.axis.marks
        assert marks.labels == ["T 0.7→0.9"]


def test_a_chosen_round_lights_up_in_every_plot(panel, rounds):
    feed(panel, [started(), *rounds])
    chosen = rounds[4]
    panel.mark_round(Lane.SPECULATIVE, chosen.round_index)
    first, last = chosen.position + 1, chosen.position + len(chosen.tokens)
    for title in ("Time per token", "Tokens per second", "Time per round"):
        band = card(panel, title).source.axis.marks.band
        assert band == (first - 0.5, last + 0.5)
    assert card(panel, "Tokens per round").source.bars.lit == {len(chosen.tokens)}
    tested = set(range(1, chosen.counts.tested + 1))
    assert card(panel, "Acceptance by place").source.bars.lit == tested
    panel.mark_round(None, 0)
    assert card(panel, "Time per token").source.axis.marks.band is None


def test_a_point_finds_its_round(panel, rounds):
    feed(panel, [started(), *rounds])
    source = card(panel, "Time per token").source
    for event in rounds:
        for token in range(event.position + 1, event.position + len(event.tokens) + 1):
            assert source.round_at(token) == (Lane.SPECULATIVE, event.round_index)
    assert source.round_at(10_000) is None


def test_a_click_chooses_the_round(panel, rounds, qtbot):
    feed(panel, [started(), *rounds])
    plot = card(panel, "Time per token").plot
    box = plot.getPlotItem().getViewBox()
    scene = box.mapViewToScene(box.viewRect().center())
    with qtbot.waitSignal(panel.round_chosen) as chosen:
        qtbot.mouseClick(
            plot.viewport(), Qt.MouseButton.LeftButton, pos=plot.mapFromScene(scene)
        )
    assert chosen.args[0] is Lane.SPECULATIVE


def test_numbers_are_in_the_accessible_description(panel, rounds):
    feed(panel, [started(), started(Lane.PLAIN), *rounds, *plain_rounds()])
    spoken = card(panel, "Tokens per second").accessibleDescription()
    assert spoken.startswith("speculative 5")
    assert "plain 23.1 tokens per second so far" in spoken


def test_the_table_twin_has_the_numbers(panel, rounds, qtbot):
    feed(panel, [started(), *rounds])
    dialog = show_table(card(panel, "Tokens per round"))
    qtbot.addWidget(dialog)
    assert dialog.table.rowCount() == 5
    assert dialog.table.item(0, 0).text() == "1"
    texts = [a.text() for a in plot_menu(panel.cards[0]).actions()]
    assert texts == ["Show as a table", "Export…"]
    dialog.reject()


def test_predicted_speed_marks_the_present_and_the_best_lookahead(panel, rounds):
    """Dashed beyond what was drafted; PREDICTED; the advice in words."""
    feed(panel, [replace(started(), costs=step_costs(0.05)), *rounds])
    shown = card(panel, "Predicted speed")
    source = shown.source
    found = source.predictions()
    fastest = max(found, key=lambda p: p.speedup).lookahead
    assert fastest > 4
    assert source._known.getData()[0].tolist() == [0, 1, 2, 3, 4]
    assert source._beyond.getData()[0].tolist() == list(range(4, 17))
    assert [t.toPlainText() for t in source._texts] == ["now", "best"]
    assert [p.x() for p in (t.pos() for t in source._texts)] == [4, fastest]
    assert "PREDICTED" in shown._key.text()
    assert "untried" in shown._key.text()
    assert shown._advice.text() == source.advice() != ""
    whole = broken(source.advice(), shown._advice.fontMetrics(), 270, 2)
    assert " ".join(whole) == source.advice()
    assert not shown._advice.toolTip()  # it has one where it is cut
    assert f"at K = {fastest}" in shown.accessibleDescription()
    assert shown.source.table()[1][4][0] == 4


def test_without_recorded_costs_nothing_is_predicted(panel, rounds):
    feed(panel, [started(), *rounds])
    shown = card(panel, "Predicted speed")
    assert shown._empty.isVisibleTo(shown)
    assert "PREDICTED" not in shown._key.text()


def test_an_automatic_lookahead_is_a_stepped_line(panel, rounds):
    chosen = [4, 6, 0]
    feed(panel, [started()])
    feed(
        panel,
        [replace(r, auto_lookahead=k) for r, k in zip(rounds, chosen, strict=False)],
    )
    line = card(panel, "K and accepted").source._curves[0]._line
    x, y = line.getData()
    assert y.tolist() == [4, 6, 6, 0, 0]
    assert x[0] == x[1]
    assert x[2] == x[3]


def test_a_new_run_starts_over(panel, rounds):
    feed(panel, changed_at(rounds, 9))
    feed(panel, [replace(started(), run_id="s")])
    source = card(panel, "Time per token").source
    assert source.is_empty()
    assert source.axis.marks.labels == []


def test_export_writes_valid_files(panel, rounds, tmp_path):
    feed(panel, [started(), *rounds])
    for plot in panel.cards:
        plot.export(tmp_path / "p.png")
        image = QImage(str(tmp_path / "p.png"))
        assert image.width() == 1600
        plot.export(tmp_path / "p.svg")
        root = ET.parse(tmp_path / "p.svg").getroot()
        assert root.tag.endswith("svg")
        assert len(list(root.iter())) > 20
        plot.export(tmp_path / "p.csv")
        with (tmp_path / "p.csv").open(newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
        assert len(rows) == 1 + len(plot.source.table()[1])
    panel.export(tmp_path / "all.csv")
    panel.export(tmp_path / "all.png")
    assert not QImage(str(tmp_path / "all.png")).isNull()
    panel.export(tmp_path / "all.svg")
    assert len(list(ET.parse(tmp_path / "all.svg").getroot().iter())) > 100
    with pytest.raises(ValueError, match=r"\.png, \.svg, \.csv"):
        panel.export(tmp_path / "all.pdf")
    with pytest.raises(ValueError, match="choose"):
        panel.cards[0].export(tmp_path / "p.pdf")


def test_a_theme_switch_restyles_old_items(panel, rounds, qapp):
    feed(panel, [started(), *rounds])
    theme.apply(qapp, "light")
    light = theme.Theme.load("light")
    curve = card(panel, "Time per token").source._curves[0]
    assert curve._line.opts["pen"].color() == light.color("accepted", "line")
    ground = card(panel, "Time per token").plot.backgroundBrush().color()
    assert ground == light.color("surface")


def test_a_hidden_panel_draws_nothing_and_catches_up(panel, rounds):
    panel.window().hide()
    feed(panel, [started(), *rounds])
    plot = card(panel, "Time per token")
    assert plot.refresh() is False
    panel.window().show()
    panel.refresh()
    assert plot.refresh() is True


def test_an_axis_name_that_grows_stays_under_its_axis(panel, rounds):
    feed(panel, [started(), *rounds[:2]])
    feed(panel, changed_at(rounds, 2))
    axis = card(panel, "Acceptance by place")._item.getAxis("bottom")
    words = axis.label.mapRectToParent(axis.label.boundingRect())
    assert "since" in axis.label.toPlainText()
    assert words.center().x() == pytest.approx(axis.size().width() / 2, abs=2)


def test_lines_are_one_wide_and_differ_in_dash_and_shape(panel):
    for title in ("Time per token", "Time per round"):
        curves = card(panel, title).source._curves
        assert all(c._line.opts["pen"].width() == 1 for c in curves)
        assert len({c._line.opts["pen"].style() for c in curves}) == len(curves)
        assert len({c._markers.opts["symbol"] for c in curves}) == len(curves)


@pytest.mark.slow
def test_a_refresh_stays_cheap_over_five_thousand_tokens(panel, capsys):
    panel.on_event(started())
    times = []
    for i, event in enumerate(rounds_of([" w"] * 5000)):
        panel.on_event(event)
        if i % 20 == 0:
            start = time.process_time()
            panel.refresh()
            panel.grab()
            times.append(1000 * (time.process_time() - start))
    with capsys.disabled():
        print(  # noqa: T201 (a measured cost is worth reading)
            f"\nseven plots, 5,000 tokens: median {statistics.median(times):.1f} ms, "
            f"last {statistics.median(times[-10:]):.1f}, worst {max(times):.1f}"
        )
    line = card(panel, "Time per token").source._curves[0]._line
    assert len(line.getData()[0]) <= 600
    assert statistics.median(times) < 100  # a refresh comes every 100 ms


@pytest.mark.parametrize("larger", [0, 8])
def test_no_key_is_cut_whatever_the_size_of_the_type(qapp, show, rounds, larger):
    before = qapp.font()
    try:
        qapp.setFont(bigger(before, larger))
        theme.apply(qapp, "light")
        panel = show(PlotsPanel(), 320, 900)
        feed(panel, [started(), started(Lane.PLAIN), *rounds, *plain_rounds()])
        qapp.processEvents()
        keyed = [c for c in panel.cards if c._key.text()]
        assert len(keyed) >= 3  # those that are seen
        for shown in keyed:
            cut = shown._key.sizeHint().width() - shown._key.width()
            assert cut <= 0, (shown.source.title, cut)
            assert shown._key.geometry().intersects(shown._title.geometry()) is False
    finally:
        qapp.setFont(before)
        theme.apply(qapp, "light")


def bigger(font, points):
    made = QFont(font)
    made.setPointSizeF(font.pointSizeF() + points)
    return made
