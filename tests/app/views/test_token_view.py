"""The token view: text, looks, pointing, cost."""

from __future__ import annotations

import statistics
import time
from dataclasses import replace
from itertools import product

import pytest
import story
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QTextCharFormat, QTextCursor
from story import CODE, SETTINGS, rounds_of, speculative_round, started

from app import theme
from app.views.token_card import TokenCard
from app.views.token_view import TokenView
from core.events import Lane, Origin, SettingsChanged, TokenOutcome

pytestmark = pytest.mark.window
TEXT = CODE.replace("|", "")


@pytest.fixture
def view(show):
    return show(TokenView("Speculative text"))


def fill(view, rounds, prompt=True):
    view.start(started().prompt if prompt else ())
    for event in rounds:
        view.add_round(event)
    view.flush()


def format_at(view, position) -> QTextCharFormat:
    cursor = QTextCursor(view.document())
    cursor.setPosition(position + 1)
    return cursor.charFormat()


def card(view) -> TokenCard:
    return view.window().findChild(TokenCard)


def spoken(view) -> str:
    return view.accessibleDescription()


@pytest.mark.parametrize(
    ("rejected", "held", "seam"), list(product((0, 1), (0, 3), (0, 1)))
)
def test_shown_text_is_the_true_text(view, rounds, rejected, held, seam):
    view.set_show_rejected(bool(rejected))
    fill(view, [replace(r, held_characters=held) for r in rounds])
    if seam:
        after = replace(SETTINGS, lookahead=2)
        view.add_seam(SettingsChanged("r", Lane.SPECULATIVE, 9, SETTINGS, after))
    assert view.shown_text() == TEXT[: len(TEXT) - held]
    view.finish(TEXT)
    assert view.shown_text() == TEXT
    view.set_show_rejected(not rejected)
    view.grab()
    assert view.shown_text() == TEXT


def test_copying_all_gives_prompt_and_output_without_proposals(view, rounds):
    view.set_show_rejected(True)
    fill(view, rounds)
    view.selectAll()
    prompt = "".join(t.text for t in started().prompt)
    assert view.createMimeDataFromSelection().text() == prompt + TEXT
    assert "enumerate" in view.toPlainText() or "while" in view.toPlainText()


def test_copying_a_stretch_with_proposals_gives_the_true_stretch(view):
    view.set_show_rejected(True)
    fill(view, [speculative_round(0, 0, [" a", " b"], " x")], prompt=False)
    cursor = view.textCursor()
    cursor.setPosition(1)
    cursor.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
    view.setTextCursor(cursor)
    assert view.createMimeDataFromSelection().text() == "a b"


@pytest.mark.parametrize(
    ("role", "underline"),
    [
        ("accepted", QTextCharFormat.UnderlineStyle.SingleUnderline),
        ("resampled", QTextCharFormat.UnderlineStyle.WaveUnderline),
        ("bonus", QTextCharFormat.UnderlineStyle.DotLine),
        ("plain", QTextCharFormat.UnderlineStyle.NoUnderline),
    ],
)
def test_each_origin_has_its_underline(dark, role, underline):
    assert dark.token_format(role).underlineStyle() == underline


def test_the_glyph_of_a_token_has_its_roles_colours(view, dark):
    fill(view, [speculative_round(0, 0, ["for", "_"], "x")], prompt=False)
    first, second = format_at(view, 0), format_at(view, 3)
    assert first.background().color() == dark.color("accepted", "fill")
    assert first.underlineColor() == dark.color("accepted")
    assert second.underlineColor() == dark.color("resampled")


def test_the_colour_is_on_the_screen(view, dark):
    # Dots leave the corner empty in every font.
    fill(view, [speculative_round(0, 0, ["....", "x"], None)], prompt=False)
    rect = view.geometry_of.rects(0, 4)[0].toRect()
    image = view.viewport().grab().toImage()
    ratio = image.devicePixelRatio()
    corner = (rect.topLeft() + QPoint(1, 2)) * ratio
    assert image.pixelColor(corner) == dark.color("accepted", "fill")


def test_rejected_proposals_are_struck_through(view):
    view.set_show_rejected(True)
    fill(view, [speculative_round(0, 0, ["for", "_"], "xyz")], prompt=False)
    assert format_at(view, 3).fontStrikeOut()
    assert not format_at(view, 0).fontStrikeOut()


def test_a_theme_switch_restyles_what_is_shown(view, rounds, qapp):
    fill(view, rounds, prompt=False)
    theme.apply(qapp, "light")
    light = theme.Theme.load("light")
    role = view.map.stops[0].role
    assert format_at(view, 0).background().color() == light.color(role, "fill")
    assert view.shown_text() == TEXT


def test_hover_gives_the_sentence_of_the_token_there(view, qtbot):
    fill(
        view, [speculative_round(16, 0, [" for", " range"], " enumerate")], prompt=False
    )
    point = view.geometry_of.rects(6, 9)[0].center().toPoint()
    qtbot.mouseMove(view.viewport(), point)
    view._pointer.hover(point)  # an offscreen pointer does not always move
    qtbot.waitUntil(lambda: card(view) is not None and card(view).isVisible())
    assert "'enumerate' refused: u 0.71 is not below target/draft 0.38" in spoken(view)
    assert "“range” · resampled · round 17, place 2" in spoken(view)


def test_nothing_is_hovered_behind_the_end_of_a_line(view):
    fill(view, [speculative_round(0, 0, ["ab"], None)], prompt=False)
    assert view._pointer.index_under(QPoint(300, 20)) is None


def test_keys_walk_every_token_and_enter_opens_the_round(view, qtbot):
    fill(view, [speculative_round(16, 0, [" for", "", " é"], " enumerate")])
    view.setFocus()
    for name in ("for", "for", "é"):
        qtbot.keyClick(view, Qt.Key.Key_Right)
        del name
    assert spoken(view).startswith("“é” · resampled")
    qtbot.keyClick(view, Qt.Key.Key_Left)
    qtbot.keyClick(view, Qt.Key.Key_Left)
    assert spoken(view).startswith("“for” · accepted · round 17, place 1")
    with qtbot.waitSignal(view.token_chosen) as chosen:
        qtbot.keyClick(view, Qt.Key.Key_Return)
    assert chosen.args == [16, 1]
    qtbot.keyClick(view, Qt.Key.Key_Escape)
    assert not card(view).isVisible()


def test_a_click_opens_the_round_of_a_proposal(view, qtbot):
    view.set_show_rejected(True)
    fill(view, [speculative_round(2, 0, ["for", "_"], "xyz")], prompt=False)
    point = view.geometry_of.rects(3, 6)[0].center().toPoint()
    with qtbot.waitSignal(view.token_chosen) as chosen:
        qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=point)
    assert chosen.args == [2, 2]


def test_folding_proposals_keeps_the_readers_place(view, qtbot):
    fill(view, rounds_of([" word"] * 3000))
    bar = view.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    top = view._pointer.anchor().top
    view.set_show_rejected(True)
    assert (
        abs(_index(view, view._pointer.anchor().top) - _index(view, top)) < 25
    )  # two lines
    view.set_show_rejected(False)
    assert (
        abs(_index(view, view._pointer.anchor().top) - _index(view, top)) < 25
    )  # two lines


def _index(view, stop) -> int:
    return view.map.index_of(stop)


def test_the_view_follows_the_end_only_from_the_end(view):
    fill(view, rounds_of([" word"] * 1500))
    bar = view.verticalScrollBar()
    assert bar.value() == bar.maximum() > 0
    bar.setValue(3)
    view.add_round(speculative_round(999, 1500, [" more"] * 4, None))
    view.flush()
    assert bar.value() == 3


def test_a_long_prompt_is_folded_and_unfolds_at_a_click(view, qtbot):
    lines = tuple(TokenOutcome(i, f"line {i}\n", Origin.PROMPT) for i in range(30))
    view.start(lines)
    assert "⋯ 27 more prompt tokens" in view.toPlainText()
    point = view.geometry_of.rects(2, 3)[0].center().toPoint()
    qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=point)
    assert "line 0\n" in view.toPlainText()
    assert "⋯" not in view.toPlainText()


def test_a_marked_round_covers_its_tokens(view, rounds):
    fill(view, rounds)
    view.mark_round(rounds[2].round_index)
    stops = [view.map.stops[i] for i in view.stops_of_round(2)]
    assert [s.token for s in stops] == list(rounds[2].tokens)
    view.grab()


def test_a_run_that_starts_forgets_the_last(view, rounds):
    fill(view, rounds)
    view.start(())
    assert view.shown_text() == ""
    assert view.toPlainText() == ""


@pytest.mark.slow
@pytest.mark.parametrize("rejected", [False, True])
def test_appending_stays_cheap_over_five_thousand_tokens(view, rejected, capsys):
    view.set_show_rejected(rejected)
    view.start(())
    times = []
    for event in rounds_of([" word", " and", "s", ",", " more"] * 1000):
        view.add_round(event)
        if event.round_index % 10:
            continue  # a frame shows all that came since the last one
        start = time.process_time()
        view.flush()
        view.viewport().repaint()
        times.append(1000 * (time.process_time() - start))
    late = times[-30:]
    with capsys.disabled():
        print(  # noqa: T201 (a measured cost is worth reading)
            f"\n5,000 tokens, rejected {rejected}: a frame takes "
            f"{statistics.median(times):.1f} ms at the median, "
            f"{statistics.median(late):.1f} at the end, {max(times):.1f} at worst"
        )
    assert view.model.num_tokens == 5000
    assert statistics.median(late) < 40  # a tick is 33 ms; measured far below


def test_story_has_every_origin(rounds):
    origins = {t.origin for r in rounds for t in r.tokens}
    assert origins == {Origin.ACCEPTED, Origin.RESAMPLED, Origin.BONUS}
    assert story.plain_rounds()[0].tokens[0].origin is Origin.PLAIN
