"""Making a draft from the window, with a session that tells a scripted distillation."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial

import pytest
from PySide6.QtCore import QSettings, Qt

from app import settings as stored
from app.application import Application
from app.pair_outlook import look_at
from app.panels.pair_panel import MAKE_DRAFT_TIP
from core.config import DecodingConfig, DrafterKind, ModelConfig, PairConfig
from core.control import Control
from core.distillation.folder import DraftFolder, begin
from core.distillation.plan import (
    DistillFinished,
    DistillPlan,
    DistillProgress,
    DraftFigures,
    SpeedFigures,
    Stage,
)
from core.errors import ConfigurationError
from tests.core.checkpoints.tiny_checkpoints import make_gguf
from tests.fakes import ScriptedSession, machine

pytestmark = pytest.mark.window

SPEEDS = tuple(SpeedFigures(t, 0.6, 2.5, 1.7, 1.6) for t in (0.0, 1.0))
FIGURES = DraftFigures(4, 30.0, 1.5, SPEEDS, (), machine())


class DistillingSession(ScriptedSession):
    """Tells a distillation; holds in its middle until it is let go or stopped."""

    def __init__(self) -> None:
        super().__init__()
        self.plans: list[DistillPlan] = []
        self.go, self.refusal = threading.Event(), None

    def distill(self, plan: DistillPlan, control: Control) -> Iterator[object]:
        self.plans.append(plan)
        yield DistillProgress(Stage.COLLECTING, 0.2, 3000.0, 1200)
        if self.refusal is not None:
            raise self.refusal
        for step, share in ((1, 0.2), (2, 0.35), (3, 0.4)):
            yield DistillProgress(
                Stage.TRAINING, 0.7, 900.0, 5000 * step, 2.0 / step, share, "step"
            )
        self.held.set()
        while not self.go.wait(0.002) and not control.should_stop():
            pass
        stopped = control.should_stop()
        figures = None if stopped else FIGURES
        yield DistillFinished(plan.out, stopped, 15_000, 3600.0, 0.4, figures)


@pytest.fixture
def session():
    return DistillingSession()


@pytest.fixture
def window(qtbot, qapp, session, tmp_path):
    ini = QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)
    pair = PairConfig(ModelConfig("here"), DrafterKind.LOOKUP)
    stored.save(ini, stored.AppSettings(pair=pair))
    application = Application(qapp, session, ini)
    with qtbot.waitSignal(application.window.pair_desk.looked):
        application.start()
    yield application.window
    with qtbot.waitSignal(application.window.closed):
        application.window.close()
    assert application.controller.wait(3000)
    assert application.errands.close()


@pytest.fixture
def dialog(qtbot, window):
    """The dialog as the link in the pair panel opens it."""
    qtbot.mouseClick(window.page.pair.make_draft, Qt.MouseButton.LeftButton)
    found = window.draft_desk.dialog
    qtbot.waitExposed(found)
    return found


def begin_one(qtbot, session, dialog):
    qtbot.mouseClick(dialog.start, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(session.held.is_set)
    curve = dialog.progress.loss.curve  # three steps are told before it holds
    qtbot.waitUntil(lambda: len(curve.table()[1]) == 3)


def test_it_asks_for_the_chosen_target_and_a_new_folder(window, dialog):
    assert "here" in dialog.title.text()
    plan = dialog.plan()
    assert plan.target.reference == "here"
    assert plan.out.endswith("here-draft")
    assert (plan.size, plan.prompts, plan.minutes) == ("tiny", "", 60.0)
    assert not dialog.resume.isVisible()
    assert not dialog.stop.isEnabled()


def test_a_finished_draft_is_chosen_at_once(qtbot, window, session, dialog, tmp_path):
    dialog.folder.setText(str(tmp_path / "mine"))
    begin_one(qtbot, session, dialog)
    assert not dialog.start.isEnabled()
    assert not window.bar.race.isEnabled()
    qtbot.waitUntil(lambda: "Training" in window.bar.status.text())
    assert dialog.progress.left.text() == "15 min left"
    assert dialog.progress.acceptance.curve.table()[1][-1] == (15.0, 40.0)
    card = dialog.progress.acceptance
    qtbot.waitUntil(lambda: "40.0 %" in card.accessibleDescription())
    with qtbot.waitSignal(window._controller.finished):
        session.go.set()
    pair = window.page.pair.pair()
    assert pair.drafter is DrafterKind.CHECKPOINT
    assert pair.draft.reference == str(tmp_path / "mine")
    assert dialog.progress.stage.text() == "Done; the draft is chosen."
    for words in ("c = 0.050", "speed-up 1.60", "60.0 %"):
        assert words in dialog.progress.outcome.text()
    assert dialog.start.isEnabled()


def test_stopping_keeps_the_best_and_closing_the_dialog_ends_nothing(
    qtbot, window, session, dialog
):
    begin_one(qtbot, session, dialog)
    dialog.leave.click()
    assert not dialog.isVisible()
    assert window.is_busy()
    window.actions_["make_draft"].trigger()
    assert dialog.isVisible()
    assert not dialog.progress.loss.curve.is_empty()
    with qtbot.waitSignal(window._controller.finished):
        qtbot.mouseClick(dialog.stop, Qt.MouseButton.LeftButton)
    assert dialog.progress.stage.text() == "Stopped; the draft is chosen."
    assert window.page.pair.pair().draft is not None


def test_a_refusal_is_told_in_the_dialog(qtbot, window, session, dialog):
    session.refusal = ConfigurationError("The folder x is not empty; choose another.")
    with qtbot.waitSignal(window._controller.failed):
        dialog.start.click()
    assert dialog.progress.stage.text() == str(session.refusal)
    assert dialog.start.isEnabled()
    dialog.folder.setText("  ")
    dialog.start.click()
    assert "needs a folder" in dialog.progress.stage.text()
    assert len(session.plans) == 1
    assert window.page.pair.pair().drafter is DrafterKind.LOOKUP


def test_a_begun_folder_is_offered_to_be_gone_on_with(dialog, tmp_path):
    begin(DraftFolder(tmp_path / "begun"), {"target": "here"})
    dialog.folder.setText(str(tmp_path / "begun"))
    assert dialog.resume.isVisible()
    assert dialog.plan().resume
    dialog.folder.setText(str(tmp_path / "other"))
    assert not dialog.plan().resume


def test_it_waits_while_something_else_runs(qtbot, window, session, dialog):
    session.hold_before = 1
    window.run_desk.run()
    qtbot.waitUntil(session.held.is_set)
    assert not dialog.start.isEnabled()
    assert "running" in dialog.start.toolTip()
    with qtbot.waitSignal(window._controller.finished):
        session.release()
    assert dialog.start.isEnabled()
    assert not session.plans


def test_no_draft_is_offered_for_a_target_that_decodes_plainly_only(window, tmp_path):
    """It was offered, and refused only once a folder was chosen and Start pressed."""
    plain_only = make_gguf(tmp_path / "odd.gguf", architecture="mamba")
    panel, action = window.page.pair, window.actions_["make_draft"]
    look = partial(look_at, config=DecodingConfig())
    panel.show_outlook(look(PairConfig(ModelConfig(str(plain_only)))))
    assert not panel.make_draft.isEnabled()
    assert not action.isEnabled()
    assert "cannot be rewound" in panel.make_draft.toolTip()
    whole = make_gguf(tmp_path / "even.gguf")
    panel.show_outlook(look(PairConfig(ModelConfig(str(whole)))))
    assert panel.make_draft.isEnabled()
    assert action.isEnabled()
    assert panel.make_draft.toolTip() == MAKE_DRAFT_TIP
