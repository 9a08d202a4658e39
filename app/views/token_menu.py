"""The context menu of a token view."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QApplication, QMenu

if TYPE_CHECKING:
    from app.views.token_view import TokenView


def token_menu(view: TokenView) -> QMenu:
    """Return a menu that lives until it is closed."""
    menu = QMenu(view)
    copy = menu.addAction("Copy", view.copy)
    copy.setShortcut(QKeySequence(QKeySequence.StandardKey.Copy))
    copy.setEnabled(view.textCursor().hasSelection())
    menu.addAction("Copy the whole output", lambda: _copy_all(view))
    menu.addSeparator()
    whole = QAction("Show the whole prompt", menu, checkable=True)
    whole.setChecked(not view.prompt_folded)
    whole.toggled.connect(lambda on: view.set_prompt_folded(not on))
    menu.addAction(whole)
    return menu


def _copy_all(view: TokenView) -> None:
    QApplication.clipboard().setText(view.shown_text())
