"""The pair doctor on the Lab page, in the whole window, with drafts written down."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from core.config import DrafterKind, ModelConfig
from core.errors import ModelLoadError
from core.events import LoadProgress
from core.lab.doctor_events import (
    NOT,
    NOTED,
    DoctorFinished,
    DoctorPlan,
    DoctorStarted,
    DraftProbed,
    DraftReport,
    advice_on,
    ranked,
)
from tests.app.started import started
from tests.fakes import ScriptedSession

pytestmark = pytest.mark.window

SMALL = DraftReport("/models/small", "small", "fits", cost_ratio=0.08)
LARGE = DraftReport(
    "/models/large", "large", NOTED, (), ("A note on it.",), cost_ratio=0.8
)
OTHER = DraftReport("/models/other", "other", NOT, ("id 7 is 'a' and not 'b'.",))
JUDGED = (SMALL, LARGE, OTHER)
PROBED = tuple(
    replace(draft, probed=True, acceptance_rate=rate, tested=80, best_lookahead=k,
            predicted_speedup=speed)
    for draft, rate, k, speed in ((SMALL, 0.31, 1, 1.08), (LARGE, 0.92, 0, 1.0))
)  # fmt: skip


class DoctorSession(ScriptedSession):
    """Looks by script; a probe may be held between its two drafts."""

    plans: tuple[DoctorPlan, ...] = ()
    fault: Exception | None = None

    def doctor(self, plan, control):
        self.plans += (plan,)
        yield LoadProgress("Looking at the checkpoints")
        yield DoctorStarted("target", JUDGED, plan.probe)
        if self.fault is not None:
            raise self.fault
        found = JUDGED
        for done, draft in enumerate(PROBED if plan.probe else ()):
            yield LoadProgress(f"Probing {draft.name}", done / 2)
            self._before(done, control)
            if control.should_stop():
                break
            found = ranked((*(d for d in found if d.name != draft.name), draft))
            yield DraftProbed(draft, found)
        stopped = control.should_stop()
        yield DoctorFinished("target", found, advice_on(found), stopped)


@pytest.fixture
def session():
    return DoctorSession()


@pytest.fixture
def application(qtbot, qapp, session, tmp_path, monkeypatch):
    with started(
        qtbot, qapp, session, tmp_path, monkeypatch, DrafterKind.NONE
    ) as application:
        yield application


@pytest.fixture
def window(application):
    window = application.window
    window.show_page(window.lab)
    window.lab.show_section(window.lab_desk.doctor.panel)
    return window


@pytest.fixture
def panel(window):
    return window.lab_desk.doctor.panel


def row(panel, place):
    model = panel.drafts
    return [model.index(place, c).data() for c in range(model.columnCount())]


def test_a_look_judges_by_files_and_loads_nothing(
    qtbot, application, window, panel, session
):
    assert not panel.use.isEnabled()
    with qtbot.waitSignal(application.controller.finished):
        panel.look.click()
    assert session.plans == (DoctorPlan(ModelConfig("here")),)
    assert session.loads == []
    assert row(panel, 0) == ["small", "✓ fits", "~ 0.08", "–", "–", "–"]
    assert row(panel, 2) == ["other", "✗ does not fit", "–", "–", "–", "–"]
    assert "small is the cheapest that fits" in panel.outcome.text()
    assert panel.badge.text() == ""
    panel.table.selectRow(2)
    assert panel.detail.text() == "id 7 is 'a' and not 'b'."
    assert not panel.use.isEnabled(), "what does not fit cannot draft"


def test_a_probe_ranks_the_drafts_and_the_best_one_can_be_used(
    qtbot, application, window, panel
):
    with qtbot.waitSignal(application.controller.finished):
        panel.probe.click()
    assert row(panel, 0) == ["small", "✓ fits", "0.08", "31.0 %", "1", "1.08"]
    assert panel.badge.text() == "PREDICTED"
    assert panel.bar.value() == panel.bar.maximum()
    assert "small at K = 1 should be 1.08 times" in panel.outcome.text()
    qtbot.waitUntil(panel.use.isEnabled)
    panel.use.click()
    pair = window.page.pair.pair()
    assert pair.draft is not None
    assert pair.draft.reference == "/models/small"
    assert window.page.decoding.config().lookahead == 1
    assert not window.page.decoding.config().auto_lookahead


def test_a_draft_is_used_for_the_target_that_it_was_judged_for(
    qtbot, application, window, panel
):
    with qtbot.waitSignal(application.controller.finished):
        panel.look.click()
    assert panel.outcome.text().startswith("For target: small is the cheapest")
    window.page.pair.choose_path(True, "/models/elsewhere")
    assert window.page.pair.pair().target == ModelConfig("/models/elsewhere")
    panel.use.click()
    pair = window.page.pair.pair()
    assert pair.target == ModelConfig("here")
    assert pair.draft == ModelConfig("/models/small")


def test_a_cancelled_probe_keeps_what_it_found(
    qtbot, application, window, panel, session
):
    session.hold_before = 1
    with qtbot.waitSignal(application.controller.finished):
        panel.probe.click()
        qtbot.waitUntil(session.held.is_set)
        qtbot.waitUntil(lambda: any(d.probed for d in panel.drafts.drafts))
        assert not panel.look.isEnabled()
        assert not panel.use.isEnabled()
        panel.cancel.click()
        session.release()
    assert panel.outcome.text() == "Cancelled; what was probed for target stays."
    assert [d.probed for d in panel.drafts.drafts] == [True, False, False]
    assert panel.look.isEnabled()


def test_a_fault_is_told_and_the_list_stays(qtbot, application, window, panel, session):
    session.fault = ModelLoadError("The tokenizer of here cannot be read.")
    with qtbot.waitSignal(application.controller.finished):
        panel.look.click()
    qtbot.waitUntil(lambda: "ended early" in panel.outcome.text())
    assert len(panel.drafts.drafts) == 3
    (banner,) = window.lab.banners.banners()
    assert banner.sentence.text() == "The tokenizer of here cannot be read."


def test_every_control_is_reached_by_the_keyboard_and_has_a_name(
    qtbot, application, window, panel
):
    with qtbot.waitSignal(application.controller.finished):
        panel.look.click()
    panel.table.setFocus()
    QTest.keyClick(panel.table, Qt.Key.Key_Down)
    assert panel.selected() == LARGE
    assert panel.detail.text() == "A note on it."
    QTest.keyClick(panel.table, Qt.Key.Key_Return)
    assert window.page.pair.pair().draft == ModelConfig("/models/large")
    assert panel.table.accessibleName() == "Drafts, the best first"
    for button in (panel.look, panel.probe, panel.cancel):
        assert button.text()
        assert button.accessibleDescription()
