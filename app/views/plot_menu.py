"""What can be done with a plot: read it as a table, or take it along."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QFileDialog, QMenu, QMessageBox

from app.views.plot_table import PlotTable

if TYPE_CHECKING:
    from app.views.plot_card import PlotCard

FORMATS = "Picture (*.png);;Drawing (*.svg);;Numbers (*.csv)"


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
    path, _ = QFileDialog.getSaveFileName(card, "Export the plot", name, FORMATS)
    if not path:
        return
    try:
        card.export(path)
    except (OSError, ValueError) as error:
        QMessageBox.warning(card, "Not exported", str(error))
