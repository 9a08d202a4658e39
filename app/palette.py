"""From named surfaces to a complete palette for the Fusion style."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtGui import QColor, QPalette

_ROLES = {
    QPalette.ColorRole.Window: "window",
    QPalette.ColorRole.WindowText: "text",
    QPalette.ColorRole.Base: "field",
    QPalette.ColorRole.AlternateBase: "raised",
    QPalette.ColorRole.ToolTipBase: "raised",
    QPalette.ColorRole.ToolTipText: "text",
    QPalette.ColorRole.PlaceholderText: "faint",
    QPalette.ColorRole.Text: "text",
    QPalette.ColorRole.Button: "raised",
    QPalette.ColorRole.ButtonText: "text",
    QPalette.ColorRole.BrightText: "error",
    QPalette.ColorRole.Link: "link",
    QPalette.ColorRole.LinkVisited: "link",
    QPalette.ColorRole.Highlight: "selection",
    QPalette.ColorRole.HighlightedText: "text",
    QPalette.ColorRole.Accent: "accent",
    QPalette.ColorRole.Light: "raised",
    QPalette.ColorRole.Midlight: "raised",
    QPalette.ColorRole.Mid: "border",
    QPalette.ColorRole.Dark: "border",
    QPalette.ColorRole.Shadow: "window",
}


def fusion_palette(color: Callable[[str], QColor]) -> QPalette:
    """Return a palette in which no role is left to the platform's guess."""
    palette = QPalette()
    for role, name in _ROLES.items():
        palette.setColor(role, color(name))
    off = QPalette.ColorGroup.Disabled
    for role in (
        QPalette.ColorRole.WindowText,
        QPalette.ColorRole.Text,
        QPalette.ColorRole.ButtonText,
    ):
        palette.setColor(off, role, color("faint"))
    return palette
