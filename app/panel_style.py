"""The window's own stylesheet, filled with the colours and sizes of the theme."""

from __future__ import annotations

import resources
from app.fonts import SCALE, point_size
from app.theme import Theme

FILE = "themes/panels.qss"


def panel_stylesheet(theme: Theme) -> str:
    """Return the stylesheet of the panels in ``theme``."""
    sizes = {f"size_{step}": f"{point_size(step)}pt" for step in SCALE}
    values = {**theme.surfaces, **sizes}
    text = resources.text(FILE)
    for name in sorted(values, key=len, reverse=True):
        text = text.replace(f"@{name}", values[name])
    return text
