"""From the stored settings to the controls, and back."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray, QSize

from app.settings import AppSettings

if TYPE_CHECKING:
    from app.main_window import MainWindow

FIRST_SIZE, FRAME = QSize(1280, 800), QSize(0, 32)
TICKED = ("show_rejected", "show_left", "show_right")


def restore(window: MainWindow, settings: AppSettings) -> None:
    """Show everything as it was left."""
    page, actions = window.page, window.actions_
    screen = window.screen().availableGeometry().size()
    window.resize(FIRST_SIZE.boundedTo(screen - FRAME))
    if settings.geometry:
        window.restoreGeometry(QByteArray(settings.geometry))
    page.restore_splitters(settings.splitters)
    page.decoding.set_config(settings.decoding)
    page.decoding.more.set_open(settings.more)
    page.pair.set_pair(settings.pair)
    window.pair_desk.restore(settings.places, settings.recent)
    if settings.prompt:
        page.prompt.set_prompt(settings.prompt, settings.use_chat_template)
    else:
        page.prompt.start_with()
    page.prompt.set_system_turn(settings.system)
    page.prompt.set_ids_open(settings.show_ids)
    for name in TICKED:
        actions[name].setChecked(getattr(settings, name))
    page.left.setVisible(settings.show_left)
    page.right.setVisible(settings.show_right)


def collect(window: MainWindow, before: AppSettings) -> AppSettings:
    """Return everything that should come back at the next start."""
    page, actions = window.page, window.actions_
    return dataclasses.replace(
        before,
        geometry=bytes(window.saveGeometry().data()),
        splitters=page.splitter_states(),
        **{name: actions[name].isChecked() for name in TICKED},
        show_ids=page.prompt.ids_are_open(),
        more=page.decoding.more.is_open,
        decoding=page.decoding.config(),
        pair=page.pair.pair(),
        places=window.pair_desk.places,
        recent=window.pair_desk.recent,
        prompt=page.prompt.text(),
        use_chat_template=page.prompt.uses_template(),
        system=page.prompt.system.text(),
        folder=window.traces.folder,
        theme=window.view_desk.theme,
        zoom=window.view_desk.zoom,
    )
