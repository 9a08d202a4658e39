"""One round, opened."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from story import SETTINGS, plain_round, speculative_round

from app.views.candidates import candidate_rows
from app.views.places_model import rows_of
from app.views.round_inspector import RoundInspector, candidates_title, subtitle
from app.views.time_bar import TimeBar, parts_of

pytestmark = pytest.mark.window
REFUSED = speculative_round(16, 40, [" for", " _", " range"], " enumerate")
ALL_KEPT = speculative_round(3, 9, [" a", " b", " c", " d", " e"], None)
GREEDY = replace(SETTINGS, temperature=0.0)


@pytest.fixture
def inspector(show):
    return show(RoundInspector(), 680, 230)


def test_the_subtitle_counts():
    assert subtitle(REFUSED) == "2 of 4 accepted · 3 tokens in 61.8 ms"
    assert subtitle(plain_round(0, "x")) == "nothing proposed · 1 token in 42.8 ms"


def test_rows_tell_every_verdict():
    rows = rows_of(REFUSED)
    assert rows[0].cells == ("1", " for", "0.64", "0.58", "0.91", "0.12", "accepted")
    assert rows[2].cells[4:] == ("0.38", "0.71", "refused → range")
    assert rows[3].cells[3:] == ("–", "–", "–", "not judged")


def test_a_token_without_a_place_has_a_row_of_its_own():
    assert rows_of(ALL_KEPT)[-1].cells == (
        "+",
        "–",
        "–",
        "0.70",
        "–",
        "–",
        "bonus → e",
    )
    assert rows_of(plain_round(0, " x"))[0].place == 0


def test_temperature_zero_shows_unwarped_probabilities_and_says_so():
    event = speculative_round(0, 0, [" a", " b"], " x", settings=GREEDY)
    assert rows_of(event)[1].cells[2:4] == ("0.82", "0.31")
    assert candidates_title(event, 2) == "Place 2 · unwarped, T = 0"


def test_candidates_put_the_proposed_and_the_drawn_first():
    rows = candidate_rows(REFUSED, 3)
    assert {r.text for r in rows[:2]} == {" enumerate", " range"}
    assert next(r for r in rows if r.proposed).shares == (0.82, 0.31, None) or next(
        r for r in rows if r.proposed
    ).shares[:2] == (0.82, 0.31)


def test_a_proposal_from_outside_the_best_is_among_the_candidates():
    place = replace(
        REFUSED.places[2], token_id=99, text=" odd", draft_probability=0.004
    )
    event = replace(REFUSED, places=(*REFUSED.places[:2], place))
    row = next(r for r in candidate_rows(event, 3) if r.proposed)
    assert row.text == " odd"
    assert row.shares == (0.004, 0.31, None)


def test_candidates_of_a_bonus_token_are_the_targets():
    rows = candidate_rows(ALL_KEPT, 0)
    assert rows[0].text == " e"
    assert rows[0].drawn
    assert all(r.shares[0] is None and r.shares[2] is None for r in rows)


def test_showing_a_round_chooses_the_place_quietly(inspector, qtbot):
    with qtbot.assertNotEmitted(inspector.place_chosen):
        inspector.show_round(REFUSED, 3)
    assert inspector.table.currentIndex().row() == 2
    assert inspector._title.text() == "Round 17"
    assert (
        "enumerate: draft 0.82, target 0.31" in inspector.bars.accessibleDescription()
    )


def test_choosing_a_row_by_key_changes_the_bars(inspector, qtbot):
    inspector.show_round(REFUSED, 3)
    with qtbot.waitSignal(inspector.place_chosen) as chosen:
        qtbot.keyClick(inspector.table, Qt.Key.Key_Up)
    assert chosen.args == [2]
    assert inspector._bars_title.text() == "Place 2"


def test_clearing_says_how_to_open_a_round(inspector):
    inspector.show_round(REFUSED, 3)
    inspector.clear()
    assert "Click a token" in inspector.accessibleDescription()


def test_the_parts_of_a_round_are_labelled():
    labels = [label for _, _, label in parts_of(REFUSED)]
    assert labels == [
        "draft 10.4 ms (4 × 2.6 ms)",
        "verify 50.1 ms",
        "rule 0.90 ms",
        "other 0.40 ms",
    ]


@pytest.mark.parametrize("width", [640, 420, 300, 200, 120])
def test_labels_of_the_parts_never_overlap_or_clip(show, width):
    bar = show(TimeBar(), width, 40)
    bar.show_round(REFUSED)
    metrics = bar.fontMetrics()
    labels = bar._labels(metrics_of(bar))
    taken = sum(metrics.horizontalAdvance(t) + 9 + 4 for t in labels) + 3 * 14
    assert width < 200 or taken <= bar.width() * 1.12  # the small font is narrower


def metrics_of(bar):
    from PySide6.QtGui import QFontMetricsF

    from app.fonts import text_font

    return QFontMetricsF(text_font("small"))
