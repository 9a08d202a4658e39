"""Walk through the rounds of a run: first, back, play, forward, last, and a slider."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QSlider,
    QToolButton,
    QWidget,
)

from app.fonts import token_font
from app.icons import player_icon
from app.panels.parts import row_in
from app.theme import Theme, notifier
from app.views.announce import announce
from app.views.elided import SteadyLabel

SPEEDS = {
    "⅛×": 0.125,
    "¼×": 0.25,
    "½×": 0.5,
    "1×": 1.0,
    "2×": 2.0,
    "4×": 4.0,
    "8×": 8.0,
}
TRUE_SPEED = "1×"
NOTHING = "no round yet"
ICON = QSize(14, 14)
_BUTTONS = {
    "first": ("First round", "To before the first round (Home on the slider)"),
    "back": ("Earlier round", "One round back (Alt+Left, or Left on the slider)"),
    "play": ("Play", "Play at the lanes' own speed (Space on the slider)"),
    "forward": ("Later round", "One round on (Alt+Right, or Right on the slider)"),
    "last": ("Last round", "To the last round (End on the slider)"),
}


class RoundSlider(QSlider):
    """A slider of rounds; arrows, Page Up and Down, Home and End move it, Space plays.

    Signals:
        play_asked: Space.
    """

    play_asked = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        plain = event.modifiers() == Qt.KeyboardModifier.NoModifier
        if event.key() == Qt.Key.Key_Space and plain:
            self.play_asked.emit()
        else:
            super().keyPressEvent(event)


class ScrubBar(QFrame):
    """Says where in the run the views stand, and takes wishes to stand elsewhere.

    Signals:
        position_chosen: how many steps have ended at the place that was chosen.
        step_asked: by how many steps to move.
        play_asked: play, or hold.
        speed_chosen: how many times the lanes' own speed.
    """

    position_chosen = Signal(int)
    step_asked = Signal(int)
    play_asked = Signal()
    speed_chosen = Signal(float)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("card", True)
        self.buttons = {name: _button(*words) for name, words in _BUTTONS.items()}
        self.slider = RoundSlider(Qt.Orientation.Horizontal)
        self.where, self.speed = SteadyLabel(WIDEST), QComboBox()
        self._offered = self._playing = False
        self._configure()
        self._place()
        self._wire()
        self.show_position(0, 0, NOTHING)
        self._on_theme_changed(Theme.current())

    def set_offered(self, offered: bool) -> None:
        """Let a person scrub, or only show where the run is."""
        self._offered = offered
        self._offer()

    def show_position(
        self, position: int, last: int, words: str, *shorter: str
    ) -> None:
        """Say where the views stand; ``shorter`` where the words have no room."""
        self.slider.blockSignals(True)
        self.slider.setRange(0, last)
        self.slider.setPageStep(max(1, last // 20))
        self.slider.setValue(position)
        self.slider.blockSignals(False)
        self.where.set_shorter(*shorter)
        self.where.setText(words)
        self._offer()
        if self._offered and self.slider.accessibleDescription() != words:
            announce(self.slider, words)

    def show_playing(self, playing: bool) -> None:
        """Offer to hold while it plays."""
        self._playing = playing
        play = self.buttons["play"]
        play.setAccessibleName("Hold" if playing else _BUTTONS["play"][0])
        self._restyle(Theme.current())

    def _offer(self) -> None:
        there = self._offered and self.slider.maximum() > 0
        early = self.slider.value() > 0
        late = self.slider.value() < self.slider.maximum()
        for part in (self.slider, self.speed, self.buttons["play"]):
            part.setEnabled(there)
        for name, useful in (("first", early), ("back", early)):
            self._enable(name, there and useful)
        for name, useful in (("forward", late), ("last", late)):
            self._enable(name, there and useful)

    def _enable(self, name: str, useful: bool) -> None:
        """Offer a button; one in focus without a use gives its focus to the slider."""
        button = self.buttons[name]
        if button.hasFocus() and not useful and self.slider.isEnabled():
            self.slider.setFocus()
        button.setEnabled(useful)

    # Building ---------------------------------------------------------------------

    def _configure(self) -> None:
        self.slider.setAccessibleName("Rounds")
        self.slider.setToolTip("Left, Right: one round; Home, End; Space plays")
        for name, factor in SPEEDS.items():
            self.speed.addItem(name, factor)
        self.speed.setCurrentText(TRUE_SPEED)
        self.speed.setAccessibleName("Speed")
        self.speed.setToolTip("1× is true speed, from the lanes' own clocks")
        self.where.setAlignment(_RIGHT)

    def _place(self) -> None:
        row = row_in(self, spacing=2, margins=(8, 3, 8, 3))
        for button in self.buttons.values():
            row.addWidget(button)
        row.addSpacing(6)
        row.addWidget(self.slider, 1)
        row.addSpacing(6)
        row.addWidget(self.where)
        row.addSpacing(6)
        row.addWidget(self.speed)

    def _wire(self) -> None:
        self.buttons["first"].clicked.connect(self._on_first_clicked)
        self.buttons["back"].clicked.connect(self._on_back_clicked)
        self.buttons["play"].clicked.connect(self.play_asked)
        self.buttons["forward"].clicked.connect(self._on_forward_clicked)
        self.buttons["last"].clicked.connect(self._on_last_clicked)
        self.slider.valueChanged.connect(self.position_chosen)
        self.slider.play_asked.connect(self.play_asked)
        self.speed.currentIndexChanged.connect(self._on_speed_chosen)
        notifier().changed.connect(self._on_theme_changed)

    @Slot()
    def _on_first_clicked(self) -> None:
        self.position_chosen.emit(0)

    @Slot()
    def _on_back_clicked(self) -> None:
        self.step_asked.emit(-1)

    @Slot()
    def _on_forward_clicked(self) -> None:
        self.step_asked.emit(+1)

    @Slot()
    def _on_last_clicked(self) -> None:
        self.position_chosen.emit(self.slider.maximum())

    @Slot()
    def _on_speed_chosen(self) -> None:
        self.speed_chosen.emit(self.speed.currentData())

    def _restyle(self, theme: Theme) -> None:
        ink, faint = theme.color("text"), theme.color("faint")
        for name, button in self.buttons.items():
            icon = ("pause" if self._playing else "run") if name == "play" else name
            button.setIcon(player_icon(icon, ink, faint))

    @Slot(object)
    def _on_theme_changed(self, theme: Theme) -> None:
        self._restyle(theme)
        self.where.setFont(token_font("small"))  # digits of one width


def _button(name: str, tip: str) -> QToolButton:
    button = QToolButton()
    button.setIconSize(ICON)
    button.setAccessibleName(name)
    button.setToolTip(tip)
    button.setAutoRaise(True)
    button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    return button


WIDEST = "round 000 of 000 · 000.00 s"
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
