"""Where things are saved: the kind that was chosen in the dialog counts everywhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QFileDialog, QMessageBox

import resources
from app.save_dialog import PLOT_KINDS, with_ending
from app.trace_actions import REPORTS, TRACES
from app.views.plot_menu import ask_and_export
from tests.app.started import started
from tests.fakes import ScriptedSession

pytestmark = pytest.mark.window


@pytest.fixture
def window(qtbot, qapp, tmp_path, monkeypatch):
    with started(qtbot, qapp, ScriptedSession(), tmp_path, monkeypatch) as application:
        yield application.window


@pytest.fixture
def replayed(qtbot, window):
    """A window that shows the race that ships with the program."""
    with qtbot.waitSignal(window.traces.opened):
        window.traces.open_path(str(resources.path("demo/race.jsonl")))
    qtbot.waitUntil(lambda: window.page.plots is not None)
    qtbot.waitUntil(lambda: window.traces.desk.has_run and not window.is_busy())
    return window


def answer(monkeypatch, path: Path, kind: str) -> list[str]:
    """Let the dialog be answered; return the list of the names that it offers."""
    offered: list[str] = []

    def ask(parent, title, name, kinds):
        offered.append(Path(name).name)
        return str(path), kind

    monkeypatch.setattr(QFileDialog, "getSaveFileName", ask)
    return offered


def sentences(window) -> list[str]:
    return [banner.sentence.text() for banner in window.page.banners.banners()]


@pytest.mark.parametrize(
    ("typed", "kind", "kinds", "written"),
    [
        ("plots.png", "Drawing (*.svg)", PLOT_KINDS, "plots.svg"),  # as it was offered
        ("mine", "Numbers (*.csv)", PLOT_KINDS, "mine.csv"),
        ("mine.v2", "Picture (*.png)", PLOT_KINDS, "mine.v2.png"),
        ("mine.svg", "Picture (*.png)", PLOT_KINDS, "mine.svg"),
        ("mine.PNG", "Numbers (*.csv)", PLOT_KINDS, "mine.PNG"),
        ("mine.png", "", PLOT_KINDS, "mine.png"),
        ("mine", "", PLOT_KINDS, "mine.png"),  # a dialog that names no kind
        ("mine", TRACES, TRACES, "mine.jsonl"),
        ("page.htm", REPORTS, REPORTS, "page.htm"),
    ],
)
def test_a_typed_ending_counts_before_the_kinds(typed, kind, kinds, written):
    found = with_ending(Path("there") / typed, kind, "plots.png", kinds)
    assert found == Path("there") / written


@pytest.mark.parametrize(
    ("kind", "ending", "begins"),
    [
        ("Picture (*.png)", ".png", b"\x89PNG"),
        ("Drawing (*.svg)", ".svg", b"<?xml"),
        ("Numbers (*.csv)", ".csv", b"plot,"),
    ],
)
def test_all_plots_are_written_in_the_kind_that_was_chosen(
    replayed, tmp_path, monkeypatch, kind, ending, begins
):
    answer(monkeypatch, tmp_path / "plots", kind)
    replayed.traces.ask_export()
    written = tmp_path / f"plots{ending}"
    assert written.read_bytes().startswith(begins)
    assert f"plots{ending} is written." in sentences(replayed)


def test_one_plot_is_written_in_the_kind_that_was_chosen(
    replayed, tmp_path, monkeypatch
):
    card = replayed.page.plots.cards[0]
    offered = answer(monkeypatch, tmp_path / "time-per-token.png", "Drawing (*.svg)")
    ask_and_export(card)
    assert offered == ["time-per-token.png"]
    assert (tmp_path / "time-per-token.svg").read_bytes().startswith(b"<?xml")
    assert not (tmp_path / "time-per-token.png").exists()


def test_a_file_that_the_dialog_did_not_ask_about_is_not_replaced(
    replayed, tmp_path, monkeypatch
):
    said: list[str] = []
    monkeypatch.setattr(QMessageBox, "warning", lambda *a: said.append(a[2]))
    (tmp_path / "mine.csv").write_text("mine")
    answer(monkeypatch, tmp_path / "mine", "Numbers (*.csv)")
    ask_and_export(replayed.page.plots.cards[0])
    replayed.traces.ask_export()
    assert (tmp_path / "mine.csv").read_text() == "mine"
    told = [*said, *(s for s in sentences(replayed) if s.startswith("mine.csv"))]
    assert told == ["mine.csv is there already; type its ending too to replace it."] * 2


def test_a_folder_that_cannot_be_written_is_a_sentence(replayed, tmp_path, monkeypatch):
    said: list[str] = []
    monkeypatch.setattr(QMessageBox, "warning", lambda *a: said.append(a[2]))
    for ending in ("png", "svg", "csv"):
        answer(monkeypatch, tmp_path / "no" / f"p.{ending}", "")
        replayed.page.banners.clear()
        replayed.traces.ask_export()
        ask_and_export(replayed.page.plots.cards[0])
        sentence = f"Cannot write p.{ending}; choose another folder."
        assert sentences(replayed) == [sentence]
        assert said.pop() == sentence


def test_there_is_nothing_to_export_before_a_run(window, tmp_path, monkeypatch):
    assert answer(monkeypatch, tmp_path / "plots", "Numbers (*.csv)") == []
    window.traces.ask_export()
    assert sentences(window) == ["There is nothing to save yet; run or race first."]


def test_plots_that_nobody_scrolled_to_are_in_the_picture(replayed, tmp_path):
    """Each panel of the picture has lines, also of cards below the window's edge."""
    replayed.page.plots.export(tmp_path / "plots.png")
    picture = QImage(str(tmp_path / "plots.png"))
    wide, high = picture.width() // 2, picture.height() // 4
    for place in range(len(replayed.page.plots.cards)):
        row, column = divmod(place, 2)
        panel = picture.copy(column * wide, row * high + 80, wide, high - 80)
        colours = {
            panel.pixelColor(x, y).name()
            for x in range(120, wide, 3)
            for y in range(0, high - 200, 3)
            if panel.pixelColor(x, y).saturation() > 60
        }
        assert colours, replayed.page.plots.cards[place].source.title
