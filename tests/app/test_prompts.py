"""The prompt panel: system turn, files of prompts."""

from __future__ import annotations

import pytest

from app.errands import Errands
from app.panels.prompt_panel import PromptPanel
from app.prompt_desk import PromptDesk
from app.run_controller import RunController
from tests.fakes import ScriptedSession

pytestmark = pytest.mark.window


@pytest.fixture
def panel(qtbot):
    panel = PromptPanel()
    qtbot.addWidget(panel)
    return panel


@pytest.fixture
def desk(qtbot, panel):
    controller, errands = RunController(ScriptedSession()), Errands()
    yield PromptDesk(panel, controller, errands, panel)
    errands.close()
    controller.close()
    assert controller.wait(3000)


def test_a_system_turn_needs_the_template(panel):
    panel.set_prompt("hi", use_template=True)
    panel.set_system_turn("You are brief.")
    assert panel.system_turn() == "You are brief."
    panel.template.setChecked(False)
    assert panel.system_turn() == ""
    assert not panel.system.isEnabled()


def test_a_file_shows_its_first_prompt_and_offers_the_others(
    qtbot, panel, desk, tmp_path
):
    before = len(panel.library.menu().actions())
    file = tmp_path / "two.jsonl"
    file.write_text('{"prompt": "one", "chat": false}\n{"prompt": "two & three"}\n')
    desk.open_file(file)
    qtbot.waitUntil(lambda: panel.text() == "one")
    assert not panel.uses_template()
    menu = panel.library.menu().actions()[-1].menu()
    assert menu.title() == "two.jsonl"
    menu.actions()[1].trigger()
    assert panel.text() == "two & three"
    (tmp_path / "plain.txt").write_text("a text")
    desk.open_file(tmp_path / "plain.txt")
    qtbot.waitUntil(lambda: panel.text() == "a text")
    qtbot.waitUntil(lambda: len(panel.library.menu().actions()) == before)


def test_a_file_that_cannot_be_read_leaves_the_prompt(qtbot, panel, desk, tmp_path):
    panel.set_prompt("kept", use_template=True)
    with qtbot.waitSignal(desk.failed) as told:
        desk.open_file(tmp_path / "gone.txt")
    assert "gone.txt" in told.args[0]
    assert panel.text() == "kept"
