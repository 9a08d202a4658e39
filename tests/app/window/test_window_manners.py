"""Names, focus, themes and sizes of the whole window."""

from __future__ import annotations

import sys

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget

from app import settings as stored
from app.panels.number_field import NumberField
from core.events import Lane
from tests.app.started import hold

pytestmark = pytest.mark.window


def test_every_control_has_a_name_for_screen_readers(window):
    page = window.page
    here = (window.bar, page.pair, page.decoding, page.prompt, page.strip)
    for panel in (*here, page.scrub_bar, window.lab, window.present):
        for control in panel.findChildren(QWidget):
            if control.window() is not window:  # the list that a combo drops
                continue
            takes_focus = control.focusPolicy() & Qt.FocusPolicy.TabFocus
            inner = control.objectName().startswith("qt_")
            if takes_focus and not inner and not isinstance(control, QLabel):
                text = getattr(control, "text", str)()
                assert control.accessibleName() or text, control


def test_focus_is_seen_on_plots_and_in_the_text(qtbot, application, window):
    with qtbot.waitSignal(application.controller.finished):
        window.run_desk.run()
    tokens = window.page.lanes[Lane.SPECULATIVE].tokens
    window.activateWindow()
    for part in (tokens, window.page.plots.cards[0]):
        window.bar.race.setFocus()
        qtbot.waitUntil(window.bar.race.hasFocus)
        before = part.grab().toImage()
        part.setFocus()
        qtbot.waitUntil(part.hasFocus)
        assert part.grab().toImage() != before


def test_a_run_leaves_the_focus_where_it_was_and_never_on_a_knob(
    qtbot, application, window, session
):
    window.activateWindow()
    window.page.pair.drafter.setFocus()
    qtbot.waitUntil(window.page.pair.drafter.hasFocus)
    hold(qtbot, session, window)
    assert window.focusWidget() in (None, window)
    with qtbot.waitSignal(application.controller.finished):
        session.release()
    assert window.page.pair.drafter.hasFocus()


def test_a_column_that_only_scrolls_takes_no_focus(window):
    assert window.page.left.focusPolicy() == Qt.FocusPolicy.NoFocus


def test_labels_are_tied_to_their_controls(window):
    labels = window.page.decoding.findChildren(QLabel)
    buddies = [label.text() for label in labels if label.buddy()]
    assert {"K", "Temperature", "Seed"} <= set(buddies)


def test_setting_the_title_leaks_no_reference_to_none(window):
    """PySide6 6.12.0 on Python 3.11 lost one each time, until the process aborted."""
    before = sys.getrefcount(None)
    for number in range(1000):
        window.setWindowTitle(f"Draftrace {number}")
    assert abs(sys.getrefcount(None) - before) < 50


@pytest.mark.parametrize("theme", ["light", "dark", "high-contrast"])
def test_every_theme_can_be_chosen(qtbot, application, window, theme):
    actions = window.actions_.themes.actions()
    next(a for a in actions if a.data() == theme).trigger()
    assert window.settings().theme == theme


@pytest.mark.parametrize("zoom", [0, stored.LARGEST_ZOOM])
def test_the_window_fits_a_small_screen_at_any_size_of_type(
    qtbot, application, window, zoom
):
    application._on_zoom_wished(zoom)
    window.resize(1280, 720)
    plots, right = window.page.plots, window.page.right
    qtbot.waitUntil(lambda: window.width() == 1280, timeout=2000)
    card = plots.cards[1]
    qtbot.waitUntil(lambda: right.width() >= card.minimumSizeHint().width())
    assert card.width() <= plots.viewport().width()
    box = window.page.decoding.findChild(NumberField)
    assert box.width() >= box.fontMetrics().horizontalAdvance("0.0000")
    application._on_zoom_wished(0)


def test_type_can_be_made_larger_and_normal_again(qtbot, application, window):
    width = window.fontMetrics().horizontalAdvance("Draftrace")
    window.actions_["larger"].trigger()
    window.actions_["larger"].trigger()
    assert window.fontMetrics().horizontalAdvance("Draftrace") > width
    window.actions_["normal"].trigger()
    assert window.fontMetrics().horizontalAdvance("Draftrace") == width
