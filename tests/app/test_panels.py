"""The panels by themselves: limits, what they give back, what they show."""

from __future__ import annotations

import dataclasses

import pytest
from PySide6.QtCore import Qt

from app.dialogs.help_window import help_pages
from app.item_models.checkpoint_list import Ask, Choice
from app.pair_outlook import PairOutlook, checkpoint_label, path_choices
from app.panels.decoding_panel import DecodingPanel, Phase
from app.panels.number_field import NumberField, NumberSlider
from app.panels.pair_panel import PairPanel
from core.checkpoints import layer_skipping
from core.checkpoints.facts import CheckpointFacts, CheckpointKind
from core.config import (
    Coupling,
    DecodingConfig,
    DrafterKind,
    ModelConfig,
    PairConfig,
    describe,
)

pytestmark = pytest.mark.window

NUMBERS = [n for n, i in describe().items() if i.minimum is not None]
CHANGED = DecodingConfig(
    lookahead=11,
    auto_lookahead=True,
    temperature=0.725,
    top_p=0.93,
    top_k=40,
    min_p=0.05,
    repetition_penalty=1.15,
    presence_penalty=-0.5,
    frequency_penalty=0.3,
    no_repeat_ngram=3,
    seed=2**53 - 1,
    max_new_tokens=4096,
    coupling=Coupling.SHARED_NOISE,
    stop=("\n\n", "a\\nb", "end"),
    ignore_eos=True,
)


@pytest.fixture
def panel(qtbot):
    panel = DecodingPanel()
    qtbot.addWidget(panel)
    return panel


@pytest.fixture
def pairs(qtbot):
    panel = PairPanel()
    qtbot.addWidget(panel)
    panel.set_choices(
        (Choice("Demo", "demo"), Choice("Broken", "broken", None, "cut", False)),
        (
            Choice("Prompt lookup", kind=DrafterKind.LOOKUP),
            Choice("Small", "small", DrafterKind.CHECKPOINT),
            *path_choices(DrafterKind.CHECKPOINT),
        ),
    )
    panel.set_pair(PairConfig(ModelConfig("demo"), DrafterKind.LOOKUP))
    return panel


def test_every_setting_has_a_control_and_comes_back(panel):
    panel.set_config(CHANGED)
    assert panel.config() == CHANGED
    names = {f.name for f in dataclasses.fields(DecodingConfig)}
    assert set(panel._fields) == names


@pytest.mark.parametrize("name", NUMBERS)
def test_a_value_outside_the_limits_cannot_be_entered(qtbot, panel, name):
    info, box = describe()[name], panel.field(name).box
    for typed in ("9" * 20, "-" + "9" * 20, "x", "", "nan", "1e9"):
        box.selectAll()
        qtbot.keyClicks(box, typed)
        box.interpretText()
        value = getattr(panel.config(), name)
        assert info.minimum <= value <= info.maximum


def test_the_value_that_switches_a_setting_off_reads_off(qtbot):
    box = NumberField(describe()["top_k"])
    qtbot.addWidget(box)
    box.setValue(0)
    assert box.text() == "off"
    box.selectAll()
    qtbot.keyClicks(box, "40")
    box.interpretText()
    assert box.number() == 40
    box.selectAll()
    qtbot.keyClicks(box, "off")
    box.interpretText()
    assert box.number() == 0


@pytest.mark.parametrize("name", ["lookahead", "temperature", "top_p", "top_k"])
def test_the_slider_reaches_both_ends_and_stays_on_the_steps(qtbot, name):
    info = describe()[name]
    slider = NumberSlider(info, 2.0 if name == "temperature" else 1.0)
    qtbot.addWidget(slider)
    values: list[float] = []
    slider.number_changed.connect(values.append)
    for position in (slider.maximum(), slider.maximum() // 3, 0):
        slider.setValue(position)
    assert values[0] == info.maximum
    assert values[-1] == info.minimum
    off_grid = (values[1] - info.minimum) / info.step % 1
    assert min(off_grid, 1 - off_grid) < 1e-6


def test_typing_a_number_moves_the_slider_and_says_so_once(qtbot, panel):
    told: list[DecodingConfig] = []
    panel.changed.connect(told.append)
    row = panel.field("lookahead")
    row.box.setValue(12)
    assert row.slider.value() == 12
    assert [c.lookahead for c in told] == [12]


def test_showing_a_config_is_not_a_change(panel):
    told: list[DecodingConfig] = []
    panel.changed.connect(told.append)
    panel.set_config(CHANGED)
    assert not told


def test_live_settings_stay_free_while_a_run_goes_on(panel):
    panel.set_phase(Phase.RUNNING)
    free = {n for n, f in panel._fields.items() if f.isEnabled()}
    assert free == {n for n, i in describe().items() if i.live}


def test_the_panel_gives_back_the_pair_it_shows(pairs):
    pair = PairConfig(
        ModelConfig("/m/target", "cuda:1", "bfloat16"),
        DrafterKind.CHECKPOINT,
        ModelConfig("/m/draft", "cuda:1", "bfloat16"),
    )
    pairs.set_pair(pair)
    assert pairs.pair() == pair
    pairs.set_choices((Choice("Demo", "demo"),), ())  # a new look at the disk
    pairs.set_devices(("auto", "cpu"))
    assert pairs.pair() == pair


def test_what_nobody_could_run_is_called_untested(pairs):
    pairs.set_devices(("auto", "cpu", "cuda:0", "cuda:all"))
    names = [pairs.device.itemText(i) for i in range(pairs.device.count())]
    untested = {name for name in names if name.endswith("(untested)")}
    assert untested == {n for n in names if "cuda:all" in n or "int8" in n} != set()
    assert not any("int8" in name for name in names if name.startswith(("CPU", "auto")))


def test_what_cannot_be_used_stays_in_the_list_and_says_why(pairs):
    index = pairs.target.model().index(1, 0)
    assert not index.flags() & Qt.ItemFlag.ItemIsEnabled
    assert index.data(Qt.ItemDataRole.ToolTipRole) == "cut"


def test_choosing_folder_asks_and_keeps_the_choice_until_then(qtbot, pairs):
    row = [c.ask for c in pairs._drafters.choices].index(Ask.FOLDER)
    with qtbot.waitSignal(pairs.path_asked) as asked:
        pairs.drafter.activated.emit(row)
    assert asked.args == [False, Ask.FOLDER]
    assert pairs.pair().drafter is DrafterKind.LOOKUP
    with qtbot.waitSignal(pairs.changed):
        pairs.choose_path(False, "/m/other")
    assert pairs.pair().draft == ModelConfig("/m/other")


def test_fit_and_memory_are_told_in_words(qtbot, pairs):
    pairs.show()
    reason = "The draft does not use the tokens of the target."
    pairs.show_outlook(PairOutlook(False, reason, (reason,), 3 * 10**9, 2 * 10**9))
    assert reason in pairs.verdict.text()
    assert pairs.memory.text() == "needs 3.0 GB of 2.0 free"
    pairs.show_outlook(PairOutlook(True, "fits"))
    assert not pairs.needs.isVisible()


def test_the_layer_skipped_draft_is_called_what_it_is():
    names = CheckpointKind.DEMO, layer_skipping.LAYERS_REFERENCE, "cut"
    label = checkpoint_label(CheckpointFacts(*names))
    assert label == "Demo target without eight layers"
    assert len(layer_skipping.KEPT_LAYERS) == 30 - 8  # not the first ones


def test_help_begins_with_what_a_newcomer_asks():
    titles = list(help_pages().values())
    assert titles[:2] == ["Reading the numbers", "Bring your own pair"]
