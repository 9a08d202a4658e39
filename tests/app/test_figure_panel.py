"""Figure 1 on the Lab page, in the whole window, with cells that were written down."""

from __future__ import annotations

import csv
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QFileDialog

from app.jobs import State
from app.theme import Theme
from core.errors import DeviceMemoryError
from core.events import Counts
from core.lab.paper_figure import HUMAN_EVAL
from core.lab.sweep_events import (
    CellFinished,
    SweepFinished,
    SweepPlan,
    SweepProgress,
    SweepStarted,
)
from core.lab.sweep_runs import SweepRun, all_cells, best_cell
from core.lab.sweep_store import SweepFile, default_path, new_header
from tests.app.started import started
from tests.core.lab.costs import step_costs
from tests.fakes import ScriptedSession, machine, model_facts

pytestmark = pytest.mark.window
COSTS = step_costs()
PLAN = SweepPlan.figure_1()
# Milliseconds of 128 tokens by K: least at K = 3.
TIMES = (1600, 1100, 900, 800, 820, 850, 900, 950)


TITLES, LEAST = 160, 2000  # rows with the key in them; pixels of three thin lines
ROUNDS = (128, 72, 53, 44, 39, 36, 34, 33)


def counts(k: int) -> Counts:
    rounds = ROUNDS[k]
    accepted = 128 - rounds
    refused = rounds // 2 if k else 0
    drafted, tested = rounds * k, accepted + refused
    return Counts(rounds, drafted, tested, accepted, refused, rounds - refused, 128)


def runs(repeats: int = 4, temperature: float = 0.8) -> list[SweepRun]:
    return [
        SweepRun(
            k,
            temperature,
            kind,
            f"{kind} {n}",
            repeat,
            counts(k),
            TIMES[k] + 10.0 * repeat + (kind == "summary") * 100 * k,
            (ROUNDS[k],) * k,
            (ROUNDS[k] // 2,) * k,
            ROUNDS[k] * (k > 0),
        )
        for repeat in range(1, repeats + 1)
        for kind in PLAN.kinds
        for n in (1, 2)
        for k in PLAN.lookaheads
    ]


def keep(found) -> None:
    """Leave a figure in the person's data folder, as the core does."""
    facts = model_facts(), model_facts("draft", 11_000_000)
    header = new_header(*facts, PLAN.settings, machine(), COSTS)
    SweepFile(default_path(header), header).append(found)


class FigureSession(ScriptedSession):
    """Sweeps by script: one repeat, then a chance to stop, then the others."""

    plans: tuple[SweepPlan, ...] = ()

    def sweep(self, plan, control, *, run_id="sweep", out=None):
        self.plans += (plan,)
        facts = model_facts(), model_facts("draft", 11_000_000)
        empty = all_cells(PLAN, (), COSTS)
        yield SweepStarted("f", PLAN, *facts, machine(), COSTS, empty, 0, 64, "f.jsonl")
        half = all_cells(PLAN, runs(1), COSTS)
        for cell in half:
            yield CellFinished("f", cell)
        yield SweepProgress("f", 2, 0.8, "code", 2, 16, 64, 150.0)
        self._before(0, control)
        stopped = control.should_stop()
        cells = half if stopped else all_cells(PLAN, runs(), COSTS)
        yield SweepFinished("f", cells, best_cell(cells), "", stopped)


@pytest.fixture
def session():
    return FigureSession()


@pytest.fixture
def application(qtbot, qapp, session, tmp_path, monkeypatch):
    with started(qtbot, qapp, session, tmp_path, monkeypatch) as application:
        yield application


@pytest.fixture
def window(application):
    return application.window


@pytest.fixture
def panel(window):
    return window.lab_desk.figures.panel


def sentences(window) -> list[str]:
    """Return what the banners of the Lab page say."""
    return [banner.sentence.text() for banner in window.lab.banners.banners()]


def painted(picture: QImage, role: str) -> int:
    """Return how many pixels under the titles have the colour of a curve."""
    image = picture.convertToFormat(QImage.Format.Format_RGB32)
    pixels = np.frombuffer(image.constBits(), np.uint32).reshape(image.height(), -1)
    color = Theme.current().color(role, "line").rgb() & 0xFFFFFF
    return int((pixels[TITLES:] & 0xFFFFFF == color).sum())


def show(qtbot, window, panel):
    """Open the section and wait for its plots."""
    window.show_page(window.lab)
    window.lab.show_section(panel)
    qtbot.waitUntil(lambda: panel.cards is not None)


def lines(panel, place: int) -> dict[str, list[float]]:
    """Return what the solid line of each prompt kind shows in a panel."""
    source = panel.cards.sources[place]
    drawn = {k: items._line.getData()[1] for k, items in source._kinds.items()}
    return {k: [] if y is None else list(y) for k, y in drawn.items()}


def test_the_figure_is_measured_and_drawn_in_three_panels(
    qtbot, application, window, panel, session
):
    show(qtbot, window, panel)
    assert "press Start" in panel.cards.cards[0]._empty.text()
    assert not panel.save.isEnabled()
    with qtbot.waitSignal(application.controller.finished):
        panel.strip.start.click()
    assert session.plans[0] == PLAN  # as the command line has it: one file for both
    assert panel.strip.badge.text() == "MEASURED"
    assert panel.strip.outcome.text() == "Finished."
    qtbot.waitUntil(lambda: lines(panel, 0)["code"][3:4] == [825])
    assert lines(panel, 1)["code"][0] == 1.0
    assert lines(panel, 1)["code"][7] == pytest.approx(128 / (33 * 8))
    assert lines(panel, 2)["summary"][1] == pytest.approx((1200 + 25) / 72)
    assert "code: 128 tokens take least at K = 3: 825 ± " in panel.said.text()
    assert "against 1,625 ms at K = 0" in panel.said.text()
    words = panel.cards.cards[0].accessibleDescription()
    assert "code: K = 0: 1,625, K = 1: 1,125" in words
    assert "PREDICTED" in panel.cards.cards[0]._item.getAxis("bottom").labelText


def test_the_sweep_s_own_map_is_left_alone(qtbot, application, window, panel):
    other = window.lab_desk.sweeps.panel
    with qtbot.waitSignal(application.controller.finished):
        panel.strip.start.click()
    assert not other.picture.is_measured
    assert other.strip.badge.text() == ""
    panel.strip.tell("muted", "kept")
    with qtbot.waitSignal(application.controller.finished):
        other.strip.start.click()
    assert panel.strip.outcome.text() == "kept"


def test_a_cancelled_figure_says_that_it_goes_on_from_there(
    qtbot, application, window, panel, session
):
    show(qtbot, window, panel)
    session.hold_before = 0
    panel.strip.start.click()
    qtbot.waitUntil(session.held.is_set)
    qtbot.waitUntil(lambda: "about 2 min left" in panel.strip.outcome.text())
    assert application.controller.state is State.WORKING
    qtbot.waitUntil(lambda: len(lines(panel, 0)["code"]) == 8)  # what there is so far
    with qtbot.waitSignal(application.controller.finished):
        panel.strip.cancel.click()
    assert "Start goes on from there" in panel.strip.outcome.text()
    assert panel.strip.start.isEnabled()


def test_a_kept_figure_is_there_when_the_section_is_opened(qtbot, window, panel):
    keep([*runs(), *runs(1, temperature=0.0)])
    show(qtbot, window, panel)
    qtbot.waitUntil(lambda: panel.strip.badge.text() == "RECORDED")
    names = [panel.kept.itemText(i) for i in range(panel.kept.count())]
    assert [name.rpartition(" · ")[2] for name in names] == ["T = 0", "T = 0.8"]
    assert panel.caption.text().endswith("temperature 0, top-p 0.95")
    assert "Start goes on" in panel.strip.outcome.text()  # one of four repeats
    panel.kept.setCurrentIndex(1)
    panel.kept.activated.emit(1)
    qtbot.waitUntil(lambda: "temperature 0.8" in panel.caption.text())
    assert "goes on" not in panel.strip.outcome.text()


def test_nothing_of_a_figure_stays_when_the_next_one_begins(qtbot, window, panel):
    assert not panel.kept.isEnabled()  # there is none
    keep(runs())
    show(qtbot, window, panel)
    items = panel.cards.sources[0]._kinds.values()
    qtbot.waitUntil(lambda: all(len(i._p90.getData()[0]) for i in items))
    assert all(i._bars.isVisible() for i in items)
    assert panel.kept.isEnabled()
    panel.begin()
    panel.cards.sources[0].draw()
    assert not any(len(i._p90.getData()[0]) for i in items)
    assert not any(i._bars.isVisible() for i in items)


def test_the_paper_s_values_can_be_laid_over(qtbot, window, panel):
    show(qtbot, window, panel)
    first = panel.cards.sources[0]
    assert first.is_empty()
    panel.paper.click()
    qtbot.waitUntil(lambda: first._kinds["code"]._paper.getData()[1] is not None)
    line = first._kinds["code"]._paper.getData()[1]
    assert list(line) == pytest.approx(HUMAN_EVAL.ms_128())
    points = first._kinds["code"]._printed.getData()
    assert dict(zip(*points, strict=True)) == dict(HUMAN_EVAL.printed_ms_128)
    assert "Chinchilla" in panel.legend.text()
    panel.paper.click()
    qtbot.waitUntil(lambda: not len(first._kinds["code"]._printed.getData()[0]))
    assert "Chinchilla" not in panel.legend.text()


def test_the_figure_is_taken_along_as_picture_drawing_and_numbers(
    qtbot, window, panel, tmp_path
):
    keep(runs())
    show(qtbot, window, panel)
    qtbot.waitUntil(lambda: panel.strip.badge.text() == "RECORDED")
    panel.paper.click()
    desk = window.lab_desk.figures
    desk.save(tmp_path / "figure.png")
    picture = QImage(str(tmp_path / "figure.png"))
    assert picture.width() == 2 * 3 * 480
    for role in ("accepted", "draft"):
        assert painted(picture, role) > LEAST, role
    desk.save(tmp_path / "figure.svg")
    assert ET.parse(tmp_path / "figure.svg").getroot().tag.endswith("svg")
    desk.save(tmp_path / "figure.csv")
    qtbot.waitUntil(lambda: "figure.csv is written." in sentences(window))
    with (tmp_path / "figure.csv").open(encoding="utf-8", newline="") as file:
        rows = {(r["prompts"], r["K"]): r for r in csv.DictReader(file)}
    assert float(rows["code", "3"]["ms for 128 tokens"]) == pytest.approx(825)
    assert float(rows["paper: XSum", "7"]["emitted / (K + 1)"]) == 0.45
    assert rows["paper: XSum", "6"]["emitted / (K + 1)"] == ""  # not printed
    desk.save(tmp_path / "none" / "figure.png")
    desk.save(tmp_path / "figure.gif")
    said = sentences(window)
    assert "Cannot write figure.png; choose another folder." in said
    assert "Cannot write '.gif'; choose .png, .svg, .csv." in said
    desk.save(tmp_path / "none" / "figure.csv")
    csv_failed = "Cannot write figure.csv; choose another folder."
    qtbot.waitUntil(lambda: csv_failed in sentences(window))


def test_a_panel_that_nobody_sees_has_numbers_in_the_picture_too(
    qtbot, window, panel, tmp_path
):
    keep(runs())
    show(qtbot, window, panel)
    panel.cards.cards[2].hide()  # as one that is scrolled out of view
    qtbot.waitUntil(lambda: panel.strip.badge.text() == "RECORDED")
    window.lab_desk.figures.save(tmp_path / "figure.png")
    for card in panel.cards.cards:
        axis = card._item.getAxis("bottom")
        assert axis.style["showValues"]
        assert "PREDICTED" in axis.labelText


@pytest.mark.parametrize(
    ("typed", "kind", "written"),
    [
        ("figure-1.png", "Drawing (*.svg)", "figure-1.svg"),  # as it was offered
        ("mine", "Numbers (*.csv)", "mine.csv"),
        ("mine.v2", "Picture (*.png)", "mine.v2.png"),
        ("mine.svg", "Picture (*.png)", "mine.svg"),
        ("mine.png", "", "mine.png"),
    ],
)
def test_the_kind_that_is_chosen_in_the_dialog_gives_the_ending(
    qtbot, window, panel, tmp_path, monkeypatch, typed, kind, written
):
    keep(runs())
    show(qtbot, window, panel)
    qtbot.waitUntil(panel.save.isEnabled)
    answer = str(tmp_path / typed), kind
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: answer)
    panel.save.click()
    qtbot.waitUntil(lambda: f"{written} is written." in sentences(window))
    assert (tmp_path / written).exists()


def test_a_file_that_the_dialog_did_not_ask_about_is_not_replaced(
    qtbot, window, panel, tmp_path, monkeypatch
):
    keep(runs())
    show(qtbot, window, panel)
    qtbot.waitUntil(panel.save.isEnabled)
    (tmp_path / "mine.csv").write_text("mine")
    answer = str(tmp_path / "mine"), "Numbers (*.csv)"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: answer)
    panel.save.click()
    (said,) = sentences(window)
    assert said.startswith("mine.csv is there already")
    assert (tmp_path / "mine.csv").read_text() == "mine"


def test_a_figure_that_cannot_begin_does_not_speak_of_turns(
    qtbot, application, window, panel, session
):
    session.load_error = DeviceMemoryError("It needs 9 GB and 2 GB are free.")
    with qtbot.waitSignal(application.controller.finished):
        panel.strip.start.click()
    assert panel.strip.outcome.text().startswith("The sweep could not begin")
    assert sentences(window) == ["It needs 9 GB and 2 GB are free."]
    assert not panel.save.isEnabled()
