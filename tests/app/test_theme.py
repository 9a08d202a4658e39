"""Colour roles: complete, readable, switched while the window is open."""

from __future__ import annotations

import itertools

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFontInfo, QFontMetricsF, QPalette, QTextCharFormat

from app import fonts, theme
from app.theme import NAMES, Theme, contrast

pytestmark = pytest.mark.window
ROLES = {
    "accepted", "resampled", "bonus", "plain", "prompt", "rejected", "discarded",
    "draft", "target", "residual",
}  # fmt: skip
TOKENS = ("accepted", "resampled", "bonus", "plain", "prompt", "rejected", "discarded")
TEXTS = ("text", "muted", "faint", "link", "warning", "error")
GROUNDS = ("window", "surface", "raised", "field")
ENOUGH = 4.5


@pytest.fixture(params=NAMES)
def each(request):
    return Theme.load(request.param)


def test_all_themes_have_the_same_names(each):
    light = Theme.load("light")
    assert each.surfaces.keys() == light.surfaces.keys()
    assert each.roles.keys() == light.roles.keys() >= ROLES


@pytest.mark.parametrize(("text", "ground"), list(itertools.product(TEXTS, GROUNDS)))
def test_text_is_readable_on_every_ground(each, text, ground):
    assert contrast(each.color(text), each.color(ground)) >= ENOUGH


def test_tokens_are_readable_on_their_own_ground(each):
    for role, shade in itertools.product(each.roles, ("fill", "other")):
        ground = each.color(role, shade)
        assert contrast(each.color("text"), ground) >= ENOUGH, role
        assert contrast(each.color(role), ground) >= ENOUGH, role
        assert contrast(each.color(role), each.color("surface")) >= ENOUGH, role


def test_plot_lines_can_be_seen(each):
    for role in each.roles:
        assert contrast(each.color(role, "line"), each.color("surface")) >= 3, role


def test_chosen_text_and_buttons_are_readable(each):
    for ground in ("selection", "chosen"):
        assert contrast(each.color("text"), each.color(ground)) >= ENOUGH
    assert contrast(each.color("on_accent"), each.color("accent_fill")) >= ENOUGH


def test_no_colour_is_the_only_sign(each):
    def signs(role: str) -> tuple:
        form = each.token_format(role)
        return form.underlineStyle(), form.fontStrikeOut(), role == "discarded"

    kinds = [signs(r) for r in TOKENS if r not in ("plain", "prompt")]
    assert len(set(kinds)) == len(kinds)
    plain = each.token_format("plain").underlineStyle()
    assert plain == QTextCharFormat.UnderlineStyle.NoUnderline


def test_the_palette_leaves_nothing_to_the_platform(each):
    palette = each.palette()
    group = QPalette.ColorGroup.Active
    for role in QPalette.ColorRole:
        if role not in (QPalette.ColorRole.NColorRoles, QPalette.ColorRole.NoRole):
            color = palette.color(group, role)
            assert color.name() in each.surfaces.values(), role


def test_the_stylesheet_has_no_unfilled_role(qapp, each):
    assert "@" not in each.stylesheet()


def test_applying_tells_open_views_once(qtbot, qapp):
    theme.apply(qapp, "light")
    with qtbot.waitSignal(theme.notifier().changed) as changed:
        theme.apply(qapp, "high-contrast")
    assert changed.args[0] is Theme.current() is Theme.load("high-contrast")
    assert qapp.palette().color(QPalette.ColorRole.Window) == QColor("#000000")


def test_applying_what_is_shown_does_nothing(qtbot, qapp):
    theme.apply(qapp, "light")
    with qtbot.assertNotEmitted(theme.notifier().changed):
        theme.apply(qapp, "light")


def test_following_the_system_changes_with_it(qapp, qtbot, monkeypatch):
    theme.apply(qapp, "system")
    monkeypatch.setattr(theme, "system_theme", lambda app: "dark")
    qapp.styleHints().colorSchemeChanged.emit(Qt.ColorScheme.Dark)
    assert Theme.current().key == "dark"


def test_a_pinned_theme_does_not_follow(qapp, monkeypatch):
    theme.apply(qapp, "light")
    monkeypatch.setattr(theme, "system_theme", lambda app: "dark")
    qapp.styleHints().colorSchemeChanged.emit(Qt.ColorScheme.Dark)
    assert Theme.current().key == "light"


def test_token_text_is_really_of_one_width(qapp):
    metrics = QFontMetricsF(fonts.token_font())
    assert metrics.horizontalAdvance("i") == metrics.horizontalAdvance("W")
    assert QFontInfo(fonts.token_font()).family()


def test_sizes_come_from_one_scale(qapp):
    sizes = [fonts.text_font(step).pointSizeF() for step in fonts.SCALE]
    assert sizes == sorted(sizes)


def test_contrast_is_that_of_the_standard():
    assert contrast(QColor("white"), QColor("black")) == pytest.approx(21)
    assert contrast(QColor("#777777"), QColor("white")) == pytest.approx(4.48, abs=0.01)
