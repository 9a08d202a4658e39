"""What the window says where something fails, or cannot begin."""

from __future__ import annotations

import pytest

from core.config import DrafterKind, ModelConfig, PairConfig
from core.errors import DeviceMemoryError
from core.events import Lane
from tests.app.started import banners, rounds
from tests.fakes import ScriptedSession

pytestmark = pytest.mark.window


def test_a_failure_is_a_banner_and_the_text_and_the_trace_stay(
    qtbot, application, window, session, tmp_path
):
    session.fail_before = 3
    session.error = DeviceMemoryError("Out of memory; choose less.", detail="8 of 8 GB")
    with qtbot.waitSignal(application.controller.finished):
        window.run_desk.run()
    assert banners(window)[0] == "Out of memory; choose less."
    assert rounds(window) == 3
    qtbot.waitUntil(lambda: len(banners(window)) == 2)
    assert list((tmp_path / "data").rglob("failed-*.jsonl"))
    session.fail_before = None
    with qtbot.waitSignal(application.controller.finished):
        window.run_desk.run()
    assert not banners(window)


def test_a_banner_unfolds_its_detail_and_goes_when_dismissed(qtbot, window):
    window.page.banners.show_error("It broke.", "in line 7")
    banner = window.page.banners.banners()[0]
    assert not banner.detail.isVisible()
    banner.unfold.click()
    assert banner.detail.isVisible()
    banner.close_button.click()
    assert not banners(window)


def test_our_own_fault_opens_a_report(qtbot, application, window, session, caplog):
    session.fail_before = 1
    with qtbot.waitSignal(application.controller.finished):
        window.run_desk.run()
    report = application._reports[0]
    assert report.isVisible()
    assert "scripted fault" in report.report.toPlainText()
    report.close()
    assert window.bar.run.isEnabled()


def test_an_empty_prompt_costs_no_load_and_no_text(qtbot, application, window, session):
    with qtbot.waitSignal(application.controller.finished):
        window.run_desk.run()
    before, loads = window.traces.desk.events, list(session.loads)
    window.page.prompt.set_prompt("", True)
    for begin in (window.run_desk.run, window.run_desk.race, window.run_desk.step):
        begin()
        assert "The prompt is empty" in banners(window)[0]
        assert not window.is_busy()
    assert window.traces.desk.events == before
    assert session.loads == loads


def test_a_run_that_cannot_start_leaves_the_last_one(
    qtbot, application, window, monkeypatch
):
    with qtbot.waitSignal(application.controller.finished, timeout=10_000):
        window.run_desk.run()
    lane = window.page.lanes[Lane.SPECULATIVE].tokens
    text, before = lane.toPlainText(), rounds(window)
    assert text
    assert before

    def refuse(self, request, control):
        raise DeviceMemoryError("It needs 9 GB and 2 GB are free; lower the tokens.")
        yield

    monkeypatch.setattr(ScriptedSession, "run", refuse)
    with qtbot.waitSignal(application.controller.finished, timeout=10_000):
        window.run_desk.run()
    assert any("9 GB" in sentence for sentence in banners(window))
    assert lane.toPlainText() == text
    assert rounds(window) == before


def test_racing_without_a_drafter_is_answered_in_words(qtbot, window):
    plain = PairConfig(ModelConfig("here"), DrafterKind.NONE)
    window.page.pair.set_pair(plain)
    window.run_desk.race()
    assert "drafter" in banners(window)[0]
