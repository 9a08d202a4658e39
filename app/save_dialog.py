"""Ask where to save; the kind that was chosen in the dialog gives the ending."""

from __future__ import annotations

import re
from pathlib import Path

from PySide6.QtWidgets import QFileDialog, QWidget

from core.errors import ConfigurationError

PLOT_KINDS = "Picture (*.png);;Drawing (*.svg);;Numbers (*.csv)"


def ask_where(parent: QWidget, title: str, offered: str, kinds: str) -> Path | None:
    """Return the file to write, or None where the person chose none.

    Args:
        parent: the widget that asks.
        title: of the dialog.
        offered: the name, with folder and ending, that stands in the dialog at first.
        kinds: a filter as Qt wants it, for example PLOT_KINDS.

    Raises:
        ConfigurationError: if the chosen kind's ending leads to a file that is there
            already: the dialog asked about another name.
    """
    chosen, kind = QFileDialog.getSaveFileName(parent, title, offered, kinds)
    if not chosen:
        return None
    path = with_ending(Path(chosen), kind, Path(offered).name, kinds)
    if path != Path(chosen) and path.exists():
        sentence = f"{path.name} is there already; type its ending too to replace it."
        raise ConfigurationError(sentence, path=path.name)
    return path


def with_ending(path: Path, kind: str, offered: str, kinds: str) -> Path:
    """Return ``path`` with an ending; one that was typed counts before the kind's."""
    endings = _endings(kind) or _endings(kinds)  # some dialogs name no kind
    if not endings:
        return path
    if path.name == offered:  # nobody typed it
        return path.with_suffix(endings[0])
    typed = path.suffix.lower() in _endings(kinds)
    return path if typed else path.with_name(path.name + endings[0])


def _endings(kinds: str) -> list[str]:
    return re.findall(r"\*(\.\w+)", kinds)
