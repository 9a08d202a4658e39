"""What can be done with a plot: read it as a table, or take it along."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QMenu, QMessageBox

from app.save_dialog import PLOT_KINDS, ask_where
from app.views.plot_table import PlotTable
from core.errors import ConfigurationError, CoreError

if TYPE_CHECKING:
    from app.views.plot_card import PlotCard


def plot_menu(card: PlotCard) -> QMenu:
    """Return a plot's context menu."""
    menu = QMenu(card)
    menu.addAction("Show as a table", lambda: show_table(card))
    menu.addAction("Export…", lambda: ask_and_export(card))
    return menu


def show_table(card: PlotCard) -> PlotTable:
    """Open the table twin of a plot."""
    dialog = PlotTable(card.source.title, card.source.table(), card)
    dialog.open()
    return dialog


def ask_and_export(card: PlotCard) -> None:
    """Ask for a file and write the plot to it."""
    name = f"{card.source.title.lower().replace(' ', '-')}.png"
    try:
        path = ask_where(card, "Export the plot", name, PLOT_KINDS)
        if path is not None:
            _export(card, path)
    except (CoreError, ValueError) as error:
        QMessageBox.warning(card, "Not exported", str(error))


def _export(card: PlotCard, path: Path) -> None:
    try:
        card.export(path)
    except OSError as error:
        sentence = f"Cannot write {path.name}; choose another folder."
        raise ConfigurationError(sentence, path=path.name) from error
