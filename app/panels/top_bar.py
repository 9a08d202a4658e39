"""The bar on top: what can be done now, what is going on, which page shows."""

from __future__ import annotations

from PySide6.QtCore import QSize, Signal, Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QFrame,
    QPushButton,
    QSizePolicy,
    QWidget,
)

from app.icons import player_icon
from app.jobs import State
from app.panels.parts import Badge, row_in
from app.theme import Theme, notifier
from app.views.elided import ElidedLabel

ICON = QSize(12, 12)
HOLD, GO_ON = "Pause", "Resume"
HEIGHT = 44


class TopBar(QFrame):
    """Run control, status and pages.

    Signals:
        race_asked, run_asked, pause_asked, step_asked, stop_asked: a button.
        page_chosen: index of a page.
    """

    race_asked = Signal()
    run_asked = Signal()
    pause_asked = Signal()
    step_asked = Signal()
    stop_asked = Signal()
    page_chosen = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("topBar")
        self.race = _button("Race", "F6", "Race speculative against plain decoding.")
        self.run = _button("Run", "F5", "Decode the prompt once.")
        self.pause = _button(HOLD, "F7", "Hold before the next round.")
        self.step = _button("Step", "F8", "Do one round, then hold.")
        self.stop = _button("Stop", "Esc", "End the run; the text so far stays.")
        self.race.setProperty("primary", True)
        self.status = ElidedLabel()
        self.status.setText("Ready")
        self.status.setAccessibleName("Status")
        self.badge = Badge()
        self.badge.hide()
        self._pages = QButtonGroup(self)
        self._tabs = row_in(spacing=4)
        self._place()
        self._wire()
        self._restyle()
        self.show_state(State.IDLE)

    def add_page(self, title: str) -> None:
        """Offer one more page; a single one needs no switch."""
        tab = QPushButton(title)
        tab.setCheckable(True)
        tab.setFlat(True)
        tab.setProperty("tab", True)
        tab.setAccessibleName(f"Page {title}")
        self._pages.addButton(tab, len(self._pages.buttons()))
        self._tabs.addWidget(tab)
        tabs = self._pages.buttons()
        tabs[0].setChecked(True)
        for button in tabs:
            button.setVisible(len(tabs) > 1)

    def show_page(self, index: int) -> None:
        """Mark the page that shows."""
        self._pages.button(index).setChecked(True)

    def show_state(self, state: State) -> None:
        """Offer what can be done in ``state``."""
        idle, paused = state is State.IDLE, state is State.PAUSED
        going = state in (State.RUNNING, State.PAUSED)
        self.race.setEnabled(idle)
        self.run.setEnabled(idle)
        self.pause.setEnabled(going)
        self.step.setEnabled(idle or going)
        self.stop.setEnabled(state.is_busy and state is not State.STOPPING)
        self.pause.setText(GO_ON if paused else HOLD)
        self._restyle()

    def show_status(self, text: str) -> None:
        """Say what is going on."""
        self.status.setText(text)

    def _place(self) -> None:
        row = row_in(self, margins=(12, 6, 12, 6))
        for button in (self.race, self.run, self.pause, self.step, self.stop):
            row.addWidget(button)
        row.addStretch(1)
        row.addWidget(self.status)
        row.addWidget(self.badge)
        row.addStretch(1)
        row.addLayout(self._tabs)
        # As wide as its words, and cut rather than making the window wider.
        self.status.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._keep_places()

    def _keep_places(self) -> None:
        """Give the button with two words room for either, so that no other moves."""
        shown, widths = self.pause.text(), []
        for word in (HOLD, GO_ON):
            self.pause.setText(word)
            widths.append(self.pause.sizeHint().width())
        self.pause.setText(shown)
        self.pause.setMinimumWidth(max(widths))

    def _wire(self) -> None:
        self.race.clicked.connect(self.race_asked)
        self.run.clicked.connect(self.run_asked)
        self.pause.clicked.connect(self.pause_asked)
        self.step.clicked.connect(self.step_asked)
        self.stop.clicked.connect(self.stop_asked)
        self._pages.idClicked.connect(self.page_chosen)
        notifier().changed.connect(self._on_theme_changed)

    @Slot(object)
    def _on_theme_changed(self, theme: Theme) -> None:
        self._restyle()
        self._keep_places()

    def _restyle(self) -> None:
        now = Theme.current()
        faint, text = now.color("faint"), now.color("text")
        resume = self.pause.text() == GO_ON
        self.race.setIcon(player_icon("race", now.color("on_accent"), faint))
        self.run.setIcon(player_icon("run", text, faint))
        self.pause.setIcon(player_icon("run" if resume else "pause", text, faint))
        self.step.setIcon(player_icon("step", text, faint))
        self.stop.setIcon(player_icon("stop", text, faint))


def _button(text: str, keys: str, explanation: str) -> QPushButton:
    button = QPushButton(text)
    button.setIconSize(ICON)
    button.setToolTip(f"{explanation} ({keys})")
    button.setAccessibleName(text)
    button.setAccessibleDescription(explanation)
    return button
