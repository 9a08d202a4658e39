"""The picker of checkpoints: searching, reading why, choosing, fetching."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QSettings, Qt

from app import settings as stored
from app.application import Application
from app.dialogs.checkpoint_picker import CheckpointPicker
from app.item_models.pick_tree import PICK
from app.pair_outlook import find_checkpoints, look_at
from app.picks import HUB, Pick, draft_picks, target_picks
from core.checkpoints.hub_cache import local_snapshot
from core.config import DecodingConfig, DrafterKind, ModelConfig, PairConfig
from tests.core.checkpoints.hub_stand_in import serving
from tests.core.checkpoints.tiny_checkpoints import make_gguf
from tests.fakes import ScriptedSession

pytestmark = pytest.mark.window

REASON = "The draft cut uses other tokens."
PICKS = (
    Pick("Fits", "small", "/m/small", ("llama", "60 M", "120 MB"), "fits"),
    Pick("Fits", "tiny", "/m/tiny", ("qwen2", "9 M", "18 MB"), "fits"),
    Pick(
        *("Does not fit", "cut", "/m/cut", ("llama", "60 M", "120 MB")),
        *("does not fit", REASON),
        usable=False,
        place="/m",
    ),
    Pick("Does not fit", "odd", "/m/odd", fit="does not fit", sentence="Odd.",
         usable=False),
)  # fmt: skip


@pytest.fixture
def picker(qtbot):
    dialog = CheckpointPicker("Choose a draft", ("/m",))
    qtbot.addWidget(dialog)
    dialog.show()
    dialog.show_picks(PICKS)
    yield dialog
    dialog.reject()


def names(dialog) -> list[str]:
    return [index.data(PICK).name for index in dialog.tree.entries()]


def go_to(dialog, name: str) -> None:
    found = next(i for i in dialog.tree.entries() if i.data(PICK).name == name)
    dialog.tree.setCurrentIndex(found)


def test_a_search_keeps_what_has_every_word(qtbot, picker):
    qtbot.keyClicks(picker.search, "llama 60")
    assert names(picker) == ["small", "cut"]
    assert picker.pick().name == "small"
    qtbot.keyClicks(picker.search, " nothing")
    assert names(picker) == []
    assert not picker.choose.isEnabled()


def test_what_does_not_fit_shows_its_reason_and_cannot_be_chosen(qtbot, picker):
    go_to(picker, "cut")
    assert picker.details.sentence.text() == REASON
    assert "does not fit" in picker.details.verdict.text()
    assert not picker.choose.isEnabled()
    with qtbot.assertNotEmitted(picker.chosen):
        qtbot.keyClick(picker.tree, Qt.Key.Key_Return)
    index = picker.tree.currentIndex()
    assert index.data(Qt.ItemDataRole.AccessibleDescriptionRole) == REASON
    go_to(picker, "odd")  # nothing stands in its columns: the reason has their room
    assert picker.tree.currentIndex().data().endswith("Odd.")


def test_the_keyboard_alone_chooses(qtbot, picker):
    picker.search.setFocus()
    qtbot.keyClicks(picker.search, "tiny")
    with qtbot.waitSignal(picker.chosen) as told:
        qtbot.keyClick(picker, Qt.Key.Key_Return)
    assert told.args[0].reference == "/m/tiny"


def test_only_an_own_place_can_be_removed(qtbot, picker):
    go_to(picker, "small")
    assert not picker.remove.isEnabled()
    go_to(picker, "cut")
    with qtbot.waitSignals([picker.places_changed, picker.look_asked]):
        picker.remove.click()
    assert picker.places == ()


def test_the_hub_is_not_asked_before_something_is_typed(qtbot, picker):
    picker.hub.click()
    assert "Type" in picker.status.text()
    assert picker._desk._errands is None


@pytest.fixture
def models(tmp_path):
    folder = tmp_path / "models"
    folder.mkdir()
    for name in ("one", "two"):
        make_gguf(folder / f"{name}.gguf")
    (folder / "cut.gguf").write_bytes((folder / "one.gguf").read_bytes()[:5000])
    return folder


def test_targets_and_drafts_are_read_from_the_disk(models):
    found = [p for p in target_picks((str(models),), ()) if p.place == str(models)]
    assert {p.group for p in found} == {"models"}
    usable = {p.name: p.usable for p in found}
    assert usable == {"cut.gguf": False, "one": True, "two": True}
    drafts = draft_picks(str(models / "one.gguf"), (str(models),))
    fits = {p.name: p.fit for p in drafts}
    assert (fits["two"], fits["one"]) == ("fits with a note",) * 2
    same = next(p for p in drafts if p.name == "one")
    assert "loaded once" in same.sentence
    assert dict(same.rows)["Context"] == "64 tokens"
    (models / "two.gguf").write_bytes(b"GGUF")  # nothing is remembered from before
    again = draft_picks(str(models / "one.gguf"), (str(models),))
    assert next(p for p in again if p.reference.endswith("two.gguf")).usable is False


def test_a_target_that_decodes_plainly_only_says_so_before_it_is_loaded(
    qtbot, picker, tmp_path
):
    """H9: in the picker, in the list of drafters and under the pair."""
    reference = str(make_gguf(tmp_path / "odd.gguf", architecture="mamba"))
    (pick,) = (p for p in target_picks((reference,), ()) if p.reference == reference)
    assert (pick.usable, pick.fit) == (True, "plain only")
    picker.show_picks((pick,))
    assert picker.tree.currentIndex().data() == "odd   plain only"
    assert "plain only" in picker.details.verdict.text()
    assert "cannot be rewound" in picker.details.sentence.text()
    assert picker.choose.isEnabled()
    model = ModelConfig(reference)
    beside, alone = PairConfig(model, DrafterKind.LOOKUP), PairConfig(model)
    lookup, *others = find_checkpoints(beside, (reference,)).drafters
    assert not lookup.usable
    assert "choose the drafter none" in lookup.note
    assert {c.usable for c in others if c.kind is DrafterKind.NONE} == {True}
    refused, plain = (look_at(pair, DecodingConfig()) for pair in (beside, alone))
    assert (refused.fits, refused.verdict) == (False, lookup.note)
    assert (plain.fits, plain.verdict) == (True, "plain decoding only")
    assert "cannot be rewound" in plain.reasons[0]
    assert refused.no_draft == plain.no_draft == lookup.note


def test_the_short_list_judges_for_a_target_outside_of_the_places(models, tmp_path):
    outside = PairConfig(ModelConfig(str(make_gguf(tmp_path / "outside.gguf"))))
    found = find_checkpoints(outside, (str(models),)).drafters
    own = [c for c in found if c.reference.startswith(str(models))]
    assert [c.label for c in own] == ["one", "two", "cut.gguf"]
    assert [c.usable for c in own] == [True, True, False]
    assert "cut short" in own[-1].note


@pytest.fixture
def application(qtbot, qapp, tmp_path, models):
    ini = QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)
    here = ModelConfig(str(models / "one.gguf"))
    before = PairConfig(here, DrafterKind.NONE)
    values = stored.AppSettings(pair=before, places=(str(models),), recent=(before,))
    stored.save(ini, values)
    application = Application(qapp, ScriptedSession(), ini)
    with qtbot.waitSignal(application.window.pair_desk.looked):
        application.start()
    yield application
    with qtbot.waitSignal(application.window.closed):
        application.window.close()
    assert stored.load(ini).places == application.window.pair_desk.places
    assert stored.load(ini).recent[0].target == here
    assert application.errands.close()


def test_a_draft_is_chosen_in_the_window_by_keyboard(qtbot, application, models):
    window = application.window
    window.actions_["choose_draft"].trigger()
    dialog = window.pair_desk.picker.dialog
    assert "one" in dialog.windowTitle()
    qtbot.waitUntil(lambda: "two" in names(dialog), timeout=20_000)
    go_to(dialog, "two")
    qtbot.keyClick(dialog, Qt.Key.Key_Return)
    pair = window.page.pair.pair()
    assert pair.draft.reference == str(models / "two.gguf")
    assert window.pair_desk.picker.dialog is None


def test_a_recent_pair_is_taken_whole(qtbot, application):
    window = application.window
    window.actions_["choose_target"].trigger()
    dialog = window.pair_desk.picker.dialog
    qtbot.waitUntil(lambda: len(names(dialog)) > 1, timeout=20_000)
    assert dialog.pick().pair == window.pair_desk.recent[0]
    window.page.pair.choose_path(True, "/elsewhere")
    dialog.choose.click()
    assert window.page.pair.pair() == window.pair_desk.recent[0]


@pytest.fixture
def server(tmp_path, monkeypatch):
    files = {
        "config.json": b"{}",
        "tokenizer.json": b"{}",
        "model.safetensors": bytes(300_000),
    }
    with serving(files) as running:
        running.models = [{"id": "someone/tiny", "gated": "manual", "tags": []}]
        monkeypatch.setenv("HF_ENDPOINT", running.address)
        monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
        monkeypatch.setenv("NO_PROXY", "*")
        yield running


def find_on_hub(qtbot, picker) -> None:
    qtbot.keyClicks(picker.search, "tiny")
    picker.hub.click()
    fetch = picker.details.fetch
    qtbot.waitUntil(lambda: fetch.isVisible() and fetch.isEnabled(), timeout=30_000)


@pytest.mark.slow
def test_a_model_of_the_hub_is_sized_before_it_is_fetched(qtbot, picker, server):
    find_on_hub(qtbot, picker)
    pick = picker.pick()
    assert (pick.group, pick.reference) == (HUB, "someone/tiny")
    assert "accept its terms" in picker.details.sentence.text()
    assert picker.details.fetch.text() == "Fetch 300 kB"
    assert not server.starts("model.safetensors")
    with qtbot.waitSignal(picker.look_asked, timeout=30_000):
        picker.details.fetch.click()
    assert (local_snapshot("someone/tiny") / "model.safetensors").is_file()


@pytest.mark.slow
def test_a_transfer_can_be_cancelled_and_says_how_far_it_is(qtbot, picker, server):
    server.chunk, server.pause = 4096, 0.1
    find_on_hub(qtbot, picker)
    picker.details.fetch.click()
    arrived = picker.details.arrived
    qtbot.waitUntil(lambda: "of 300 kB" in arrived.text(), timeout=30_000)
    picker.details.cancel.click()
    qtbot.waitUntil(lambda: not picker.details.bar.isVisible(), timeout=10_000)
    assert local_snapshot("someone/tiny") is None
    assert picker._desk.fetching == ""
