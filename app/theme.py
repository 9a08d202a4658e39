"""Colour roles, defined once per theme, for text, plots and widgets alike.

A role has an *ink* (text and underline), a *fill* (the ground of its tokens) with an
*other* shade (so that neighbouring tokens can be told apart) and a *line* (plots). The
values live in ``resources/themes``. Colour is never the only sign: every token role has
its own underline as well.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtGui import QBrush, QColor, QPalette, QPen, QTextCharFormat
from PySide6.QtWidgets import QApplication

import resources
from app.fonts import SCALE, point_size
from app.palette import fusion_palette

NAMES = ("light", "dark", "high-contrast")
FOLLOW = "system"

_Underline = QTextCharFormat.UnderlineStyle
UNDERLINES = {
    "accepted": _Underline.SingleUnderline,
    "resampled": _Underline.WaveUnderline,
    "bonus": _Underline.DotLine,
}
STRUCK = ("rejected", "discarded")


@dataclass(frozen=True, slots=True)
class Role:
    """The four shades of one colour role, as ``#rrggbb``."""

    ink: str
    fill: str
    other: str
    line: str


@dataclass(frozen=True)
class Theme:
    """All colours of one appearance.

    Attributes:
        key: the file's name, for example ``high-contrast``.
        label: for a menu.
        dark: light text on a dark ground.
        surfaces: grounds, borders and text shades by name.
        roles: what a token or a number means, by name.
    """

    key: str
    label: str
    dark: bool
    surfaces: dict[str, str]
    roles: dict[str, Role]

    @staticmethod
    def current() -> Theme:
        """Return the theme that the application shows now."""
        return notifier().theme

    @staticmethod
    @cache
    def load(key: str) -> Theme:
        """Return the theme of ``resources/themes/<key>.toml``."""
        values = tomllib.loads(resources.text(f"themes/{key}.toml"))
        surfaces = values.pop("surfaces")
        label, dark = values.pop("name"), values.pop("dark")
        return Theme(
            key, label, dark, surfaces, {n: Role(**r) for n, r in values.items()}
        )

    def color(self, name: str, shade: str = "ink") -> QColor:
        """Return a surface by its name, or one shade of a role."""
        if name in self.surfaces:
            return QColor(self.surfaces[name])
        return QColor(getattr(self.roles[name], shade))

    def pen(
        self, name: str, style: Qt.PenStyle = Qt.PenStyle.SolidLine, width: float = 1.0
    ) -> QPen:
        """Return a cosmetic plot pen. Wider antialiased lines cost 150 times more."""
        pen = QPen(self.color(name, "line"), width, style)
        pen.setCosmetic(True)
        return pen

    def brush(self, name: str, shade: str = "line") -> QBrush:
        """Return a plain brush of a role or surface."""
        return QBrush(self.color(name, shade))

    def token_format(self, role: str, odd: bool = False) -> QTextCharFormat:
        """Return the look of one token: ground and underline, or struck through."""
        form = QTextCharFormat()
        if role == "mark":  # not a token: words of ours, to be clicked
            form.setForeground(self.color("link"))
            return form
        shades = self.roles[role]
        struck = role in STRUCK
        muted = struck or role == "prompt"
        form.setForeground(QColor(shades.ink if muted else self.surfaces["text"]))
        if role not in ("plain", "prompt"):
            form.setBackground(QColor(shades.other if odd else shades.fill))
        form.setUnderlineStyle(UNDERLINES.get(role, _Underline.NoUnderline))
        form.setUnderlineColor(QColor(shades.ink))
        form.setFontStrikeOut(struck)
        return form

    def palette(self) -> QPalette:
        """Return a complete palette for the Fusion style."""
        return fusion_palette(self.color)

    def stylesheet(self) -> str:
        """Return the small application stylesheet: cards, buttons, fields."""
        text = resources.text("themes/application.qss")
        sizes = {f"size_{step}": f"{point_size(step)}pt" for step in SCALE}
        inks = {name: role.ink for name, role in self.roles.items()}
        values = {**self.surfaces, **inks, **sizes, **self._signs()}
        for name in sorted(values, key=len, reverse=True):
            text = text.replace(f"@{name}", values[name])
        return text

    def _signs(self) -> dict[str, str]:
        """Return the files of the small signs in controls."""
        ink = "light" if self.dark else "dark"
        return {
            name: resources.path(f"themes/{name}-{ink}.svg").as_posix()
            for name in ("chevron", "check")
        }


class ThemeNotifier(QObject):
    """Keeps the current theme and follows the system where it is asked to.

    Signals:
        changed: the theme that open views should now show.
    """

    changed = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.theme = Theme.load("light")
        self.wish = FOLLOW
        self._hints: QObject | None = None

    def show(self, app: QApplication, wish: str) -> None:
        """Show ``wish``, one of NAMES or ``system``."""
        self.wish = wish
        if self._hints is None:
            self._hints = app.styleHints()
            app.styleHints().colorSchemeChanged.connect(self._on_scheme_changed)
        self._dress(app, system_theme(app) if wish == FOLLOW else wish)

    @Slot()
    def _on_scheme_changed(self) -> None:
        app = QApplication.instance()
        if self.wish == FOLLOW and isinstance(app, QApplication):
            self._dress(app, system_theme(app))

    def _dress(self, app: QApplication, key: str) -> None:
        theme = Theme.load(key)
        sheet = theme.stylesheet()  # differs, too, when the application's font does
        if theme is self.theme and sheet == app.styleSheet():
            return
        self.theme = theme
        app.setStyle("Fusion")
        app.setPalette(theme.palette())
        app.setStyleSheet(sheet)
        self.changed.emit(theme)


@cache
def notifier() -> ThemeNotifier:
    """Return the one object whose ``changed`` tells open views to restyle."""
    return ThemeNotifier()


def apply(app: QApplication, name: str = FOLLOW) -> None:
    """Dress the application in a theme by name, or as the system is dressed."""
    notifier().show(app, name)


def system_theme(app: QApplication) -> str:
    """Return the name of the theme that suits the system now."""
    hints = app.styleHints()
    # Qt 6.10 began to tell the wish for more contrast.
    wishes = hints.accessibility() if hasattr(hints, "accessibility") else None
    if wishes is not None and wishes.contrastPreference() == _high_contrast():
        return "high-contrast"
    return "dark" if hints.colorScheme() == Qt.ColorScheme.Dark else "light"


def set_role(widget: QObject, **properties: object) -> None:
    """Set the dynamic properties that the stylesheet selects by, and repolish."""
    for name, value in properties.items():
        widget.setProperty(name, value)
    style = widget.style()  # type: ignore[attr-defined]
    style.unpolish(widget)
    style.polish(widget)


def contrast(first: QColor, second: QColor) -> float:
    """Return the contrast ratio of two colours after WCAG 2.2, 1 to 21."""
    bright, dim = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def _luminance(color: QColor) -> float:
    parts = (color.redF(), color.greenF(), color.blueF())
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _high_contrast() -> object:
    return getattr(Qt, "ContrastPreference").HighContrast  # noqa: B009 (since 6.10)
