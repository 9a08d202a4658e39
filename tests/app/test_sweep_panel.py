"""The sweep on the Lab page, in the whole window, with cells that were written down."""

from __future__ import annotations

import csv
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage

from app.item_models.sweep_map import UNDER, SweepMap
from app.jobs import State
from app.theme import NAMES, Theme, contrast, notifier
from app.views.sweep_choice import SweepChoice
from app.views.sweep_words import RECORDED, Figure, numbers, whole_numbers
from core.config import DecodingConfig
from core.errors import ConfigurationError
from core.events import Counts, LoadProgress
from core.lab.advice import advise_on_sweep
from core.lab.sweep_events import (
    ALL_KINDS,
    AUTO,
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
PLAN = SweepPlan((1, 2, 4), (0.0, 0.8), ("code", "prose"), repeats=2)
# Time of 10 tokens by K; at temperature 0.8 a tenth of it more for each K.
TIMES = {0: 200.0, 1: 125.0, 2: 100.0, 4: 160.0}


def runs(repeats: int = 2) -> list[SweepRun]:
    return [
        SweepRun(
            k, t, kind, kind, repeat,
            Counts(5, 5 * k, 4 * k, 3 * k, k, 2, 10), ms * (1 + t * k / 8) + repeat,
            (5,) * k, (4,) * k, 5,
        )
        for repeat in range(1, repeats + 1)
        for t in PLAN.temperatures for kind in PLAN.kinds for k, ms in TIMES.items()
    ]  # fmt: skip


def keep(found) -> None:
    """Leave a sweep in the person's data folder, as the core does."""
    facts = model_facts(), model_facts("draft", 11_000_000)
    header = new_header(*facts, PLAN.settings, machine(), COSTS)
    SweepFile(default_path(header), header).append(found)


class SweptSession(ScriptedSession):
    """Sweeps by script: one repeat, then a chance to stop, then the other."""

    plans: list[SweepPlan]
    slow = False  # whether it may be held while it loads, too

    def load(self, pair, control):
        if self.slow:
            yield LoadProgress("Waiting for the device")
            self._before(0, control)
        yield from super().load(pair, control)

    def sweep(self, plan, control, *, run_id="sweep", out=None):
        self.plans = [*getattr(self, "plans", []), plan]
        facts = model_facts(), model_facts("draft", 11_000_000)
        empty = all_cells(PLAN, (), COSTS)
        yield SweepStarted("s", PLAN, *facts, machine(), COSTS, empty, 0, 32, "s.jsonl")
        half = all_cells(PLAN, runs(1), COSTS)
        for cell in half:
            yield CellFinished("s", cell)
        yield SweepProgress("s", 2, 0.8, "code", 2, 16, 32, 150.0)
        self._before(0, control)
        stopped = control.should_stop()
        cells = half if stopped else all_cells(PLAN, runs(), COSTS)
        advice = advise_on_sweep(cells, COSTS)
        yield SweepFinished("s", cells, best_cell(cells), advice, stopped)


@pytest.fixture
def session():
    return SweptSession()


@pytest.fixture
def application(qtbot, qapp, session, tmp_path, monkeypatch):
    with started(qtbot, qapp, session, tmp_path, monkeypatch) as application:
        yield application


@pytest.fixture
def window(application):
    return application.window


@pytest.fixture
def panel(window):
    return window.lab_desk.sweeps.panel


def texts(panel) -> list[list[str]]:
    cells = panel.picture.table.cells
    return [
        [cells.index(row, column).data() for column in range(cells.columnCount())]
        for row in range(cells.rowCount())
    ]


def test_a_sweep_fills_the_map_and_ends_in_advice(qtbot, application, window, panel):
    assert texts(panel) == [["–"] * 4] * 2  # the grid that is chosen, still empty
    assert "press Start" in panel.strip.outcome.text()
    assert not panel.csv.isEnabled()
    with qtbot.waitSignal(application.controller.finished):
        panel.strip.start.click()
    assert texts(panel)[0] == ["1.59×", "1.99×", "1.25×"]
    assert panel.picture.table.cells.index(0, 1).data(UNDER) == "highest"
    assert panel.picture.advice.text().startswith(
        "K = 2 at temperature 0 is the fastest: 1."
    )
    assert window.bar.status.text() == "Sweep finished"
    assert panel.strip.outcome.text() == "Finished."
    assert panel.strip.badge.text() == "MEASURED"
    assert panel.strip.bar.value() == panel.strip.bar.maximum()
    panel.figure.setCurrentIndex(1)
    panel.figure.activated.emit(1)
    assert texts(panel)[0] == ["2.00", "2.00", "2.00"]
    panel.kind.setCurrentIndex(1)
    panel.kind.activated.emit(1)
    assert (
        "Tokens per round, prompts of kind code: scripted"
        in panel.picture.caption.text()
    )


def test_the_plan_has_the_settings_of_the_decode_page_and_the_grid_as_typed(
    qtbot, application, window, panel, session
):
    window.page.decoding.field("top_p").set_value(0.9)
    panel.choice.lookaheads.setText("1-3, 8")
    assert panel.choice.grid.currentText() == "My own"
    assert panel.choice.total.text().startswith("8 cells: 20 decodings")
    with qtbot.waitSignal(application.controller.finished):
        panel.strip.start.click()
    plan = session.plans[0]
    assert plan.lookaheads == (1, 2, 3, 8)
    assert plan.temperatures == (0.0, 0.8)
    assert set(plan.kinds) == {"code", "repetition"}
    assert plan.settings.top_p == 0.9
    panel.choice.temperatures.setText("0, warm")
    panel.strip.start.click()
    assert len(session.plans) == 1
    banner = window.lab.banners.banners()[0].sentence.text()
    assert banner == "Temperatures have 'warm'; write numbers, such as 0, 0.8."


def test_a_cancelled_sweep_says_that_it_goes_on_from_there(
    qtbot, application, panel, session
):
    session.hold_before = 0
    panel.strip.start.click()
    qtbot.waitUntil(session.held.is_set)
    qtbot.waitUntil(lambda: "about 2 min left" in panel.strip.outcome.text())
    assert application.controller.state is State.WORKING
    assert panel.strip.bar.value() == panel.strip.bar.maximum() // 2
    assert not panel.choice.isEnabled()
    with qtbot.waitSignal(application.controller.finished):
        panel.strip.cancel.click()
    said = panel.strip.outcome.text()
    assert said == "Cancelled; whole turns are kept, and Start goes on from there."
    assert panel.picture.table.cells.index(0, 0).data(UNDER) == "so far"
    assert panel.strip.start.isEnabled()
    assert not panel.strip.cancel.isEnabled()


@pytest.mark.parametrize("section", ["sweeps", "figures"])
def test_a_sweep_cancelled_while_the_pair_loads_is_no_failure(
    qtbot, application, window, session, section
):
    panel = getattr(window.lab_desk, section).panel
    session.slow, session.hold_before = True, 0
    panel.strip.start.click()
    qtbot.waitUntil(session.held.is_set)
    with qtbot.waitSignal(application.controller.finished):
        panel.strip.cancel.click()
    assert panel.strip.outcome.text() == "Cancelled before anything was measured."
    assert not window.lab.banners.banners()
    assert panel.strip.start.isEnabled()


def test_a_kept_sweep_that_is_shown_instead_does_not_hide_the_cancelling(
    qtbot, application, window, session, panel
):
    keep(runs())
    window.show_page(window.lab)
    window.lab.show_section(panel)
    qtbot.waitUntil(lambda: panel.strip.badge.text() == "RECORDED")
    session.slow, session.hold_before = True, 0
    panel.strip.start.click()
    qtbot.waitUntil(session.held.is_set)
    assert panel.strip.badge.text() == ""
    with qtbot.waitSignal(application.controller.finished):
        panel.strip.cancel.click()
    qtbot.waitUntil(lambda: panel.strip.badge.text() == "RECORDED")
    assert panel.picture.is_measured
    assert panel.strip.outcome.text() == (
        "Cancelled before anything was measured. What shows was kept by an earlier one."
    )
    panel.kept.activated.emit(0)  # the person asks for it
    qtbot.waitUntil(lambda: panel.strip.outcome.text() == RECORDED)


def test_a_sweep_cancelled_before_its_first_turn_does_not_speak_of_kept_ones(panel):
    panel.begin(PLAN)
    facts = model_facts(), model_facts("draft", 11_000_000)
    empty = all_cells(PLAN, (), COSTS)
    panel.on_finding(
        SweepStarted("s", PLAN, *facts, machine(), COSTS, empty, 0, 32, "s.jsonl")
    )
    panel.on_finding(SweepFinished("s", empty, None, "", cancelled=True))
    assert panel.strip.outcome.text() == "Cancelled before anything was measured."
    assert panel.shown is None  # so that a kept one may be shown


def test_the_list_of_kept_sweeps_follows_what_there_is(qtbot, window, panel):
    assert not panel.kept.isEnabled()  # there is none
    keep(runs())
    window.show_page(window.lab)
    window.lab.show_section(panel)
    qtbot.waitUntil(lambda: panel.strip.badge.text() == "RECORDED")
    assert panel.kept.isEnabled()
    assert panel.file
    panel.begin(PLAN)
    assert not panel.file  # the empty map is in none


def test_kept_sweeps_are_there_when_the_page_is_opened(qtbot, window, panel, tmp_path):
    keep(runs())
    window.show_page(window.lab)
    window.lab.show_section(panel)
    qtbot.waitUntil(lambda: panel.strip.badge.text() == "RECORDED")
    assert texts(panel)[0] == ["1.59×", "1.99×", "1.25×"]  # and no column for plain
    assert panel.kept.currentText().startswith("scripted with draft")
    assert "RECORDED" in panel.picture.advice.text()
    desk, lines = window.lab_desk.sweeps, tmp_path / "map.csv"
    with qtbot.waitSignal(window.lab_desk._errands.answered):
        desk.write_csv(lines)
    with lines.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    shown = {(r["k"], r["temperature"]): r for r in rows if r["prompt_kind"] == "all"}
    assert float(shown["2", "0.0"]["speedup"]) == pytest.approx(1.99, abs=0.005)
    desk.write_png(tmp_path / "map.png")
    assert QImage(str(tmp_path / "map.png")).width() > 2 * panel.picture.width()
    desk.write_png(tmp_path / "none" / "map.png")
    said = [banner.sentence.text() for banner in window.lab.banners.banners()]
    assert "Cannot write map.png; choose another folder." in said


def test_the_arrow_keys_walk_the_map_and_enter_sets_the_decode_page(
    qtbot, window, panel
):
    keep(runs())
    window.show_page(window.lab)
    window.lab.show_section(panel)
    qtbot.waitUntil(lambda: panel.strip.badge.text() == "RECORDED")
    window.page.decoding.field("auto_lookahead").set_value(True)
    table = panel.picture.table
    table.setFocus()
    table.setCurrentIndex(table.cells.index(0, 0))
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Down):
        qtbot.keyClick(table, key)
    said = panel.picture.detail.text()
    assert said.startswith("K = 4, temperature 0.8: 0.89")
    assert "predicted" in said
    role = Qt.ItemDataRole.AccessibleTextRole
    assert table.cells.index(1, 2).data(role) == said
    qtbot.keyClick(table, Qt.Key.Key_Return)
    config = window.page.decoding.config()
    assert (config.lookahead, config.temperature) == (4, 0.8)
    assert not config.auto_lookahead
    assert "set on the Decode page" in panel.picture.detail.text()
    qtbot.mouseClick(
        table.viewport(),
        Qt.MouseButton.LeftButton,
        pos=table.visualRect(table.cells.index(0, 1)).center(),
    )
    assert window.page.decoding.config().lookahead == 2


def test_the_automatic_lookahead_is_a_column_and_a_click_on_it_sets_auto(
    qtbot, window, panel
):
    choice = panel.choice
    choice.auto.click()
    assert choice.grid.currentText() == "My own"
    assert choice.plan(DecodingConfig()).lookaheads == (1, 2, 4, 6, AUTO)
    assert choice.total.text().startswith("10 cells: 24 decodings")
    table = panel.picture.table
    heads = [
        table.cells.headerData(column, Qt.Orientation.Horizontal)
        for column in range(table.cells.columnCount())
    ]
    assert heads == ["K = 1", "K = 2", "K = 4", "K = 6", "auto K"]
    window.page.decoding.field("auto_lookahead").set_value(False)
    window.show_page(window.lab)
    window.lab.show_section(panel)
    qtbot.mouseClick(
        table.viewport(),
        Qt.MouseButton.LeftButton,
        pos=table.visualRect(table.cells.index(1, 4)).center(),
    )
    config = window.page.decoding.config()
    assert config.auto_lookahead
    assert panel.picture.detail.text().startswith("Auto K, temperature 0.8 are set")
    assert config.temperature == 0.8
    choice.lookaheads.clear()
    assert choice.plan(DecodingConfig()).lookaheads == (AUTO,)


@pytest.mark.parametrize("theme", NAMES)
def test_figures_are_legible_on_every_shade(qapp, theme, monkeypatch):
    monkeypatch.setattr(notifier(), "theme", Theme.load(theme))
    cells = SweepMap()
    cells.set_grid(PLAN.lookaheads, PLAN.temperatures, all_cells(PLAN, runs(), COSTS))
    slow = replace(cells.cells[0], speedup=0.02)
    cells.put(slow)
    for figure in Figure:
        cells.show(figure, ALL_KINDS)
        for row in range(2):
            for column in range(3):
                ground = cells.index(row, column).data(Qt.ItemDataRole.BackgroundRole)
                text = notifier().theme.color("text")
                assert contrast(text, ground) >= 4.5, (figure, row, column)


def test_a_grid_is_read_as_people_write_it(qtbot):
    assert whole_numbers("8, 1-3; 2") == (1, 2, 3, 8)
    assert numbers("0.8 0 0,5") == (0.0, 0.8, 5.0)
    with pytest.raises(ConfigurationError, match="K has '2-x'"):
        whole_numbers("1, 2-x")
    choice = SweepChoice()
    qtbot.addWidget(choice)
    choice.lookaheads.setText("1-99")
    assert "choose values from 0 to 16" in choice.total.text()
    choice.lookaheads.setText("3")
    for box in choice.kinds.values():
        box.setChecked(False)
    with pytest.raises(ConfigurationError, match="without a prompt kind"):
        choice.plan(DecodingConfig())
