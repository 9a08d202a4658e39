"""One lane for a projector: name, rate and text in large type, and how far it is."""

from __future__ import annotations

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QFrame, QLabel, QProgressBar, QWidget

from app.fonts import STAGE, enlarged, text_font, token_font
from app.panels.parts import column_in, row_in
from app.theme import Theme, notifier
from app.views.elided import ElidedLabel
from app.views.labels import count, seconds
from app.views.token_view import TokenView
from core.events import Event, Lane, RoundFinished, RunFinished, RunStarted

NAMES = {Lane.SPECULATIVE: "Speculative", Lane.PLAIN: "Plain"}
NO_RATE = "–.–"
WARM_UP = "warming up, not counted"


class StageLane(QFrame):
    """Shows the events of one lane; the prompt stays off the stage.

    Signals:
        none.
    """

    def __init__(self, lane: Lane, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.lane = lane
        self.setProperty("card", True)
        self.setAccessibleName(f"{NAMES[lane]} lane")
        self._name, self._rate, self._unit = ElidedLabel(), QLabel(), QLabel("tok/s")
        self._line = ElidedLabel()
        self.tokens = TokenView(f"{NAMES[lane]} text on the stage")
        self._bar = QProgressBar(textVisible=False, maximum=1000)
        self._factor = 1.0
        self._place()
        notifier().changed.connect(self._on_theme_changed)
        self.clear()
        self.set_factor(1.0)

    def clear(self) -> None:
        """Show an empty lane."""
        self._tokens_wanted, self._warm_up = 0, False
        self.tokens.clear()
        self._tell(0, 0.0, "")
        self._name.setText(NAMES[self.lane])

    def on_event(self, event: Event) -> None:
        """Take in one event; those of the other lane pass by."""
        if getattr(event, "lane", None) is not self.lane:
            return
        match event:
            case RunStarted():
                self._start(event)
            case RoundFinished():
                self.tokens.add_round(event)
                emitted = event.position + len(event.tokens)
                self._tell(emitted, event.clock_ms, "")
            case RunFinished(summary=summary):
                self.tokens.finish(summary.text)
                emitted = summary.counts.emitted
                clock_ms = emitted * (summary.ms_per_token or 0.0)
                self._tell(emitted, clock_ms, "finished")
                self._bar.setValue(self._bar.maximum())
            case _:
                pass

    def set_factor(self, factor: float) -> None:
        """Let all type grow with the stage."""
        self._factor = factor
        self._dress(Theme.current())

    def words(self) -> tuple[str, str, str]:
        """Return name, rate and line as shown."""
        return self._name.text(), self._rate.text(), self._line.text()

    def _start(self, event: RunStarted) -> None:
        self.clear()
        self._tokens_wanted = event.settings.max_new_tokens
        self._warm_up = event.warm_up
        if self.lane is Lane.SPECULATIVE:
            auto = event.settings.auto_lookahead
            word = "auto" if auto else str(event.settings.lookahead)
            self._name.setText(f"{NAMES[self.lane]} · K = {word}")
        self._line.setText(WARM_UP if self._warm_up else "")

    def _tell(self, emitted: int, clock_ms: float, state: str) -> None:
        rate = f"{1000 * emitted / clock_ms:.1f}" if clock_ms > 0 else NO_RATE
        self._rate.setText(rate)
        parts = [count(emitted, "token"), seconds(clock_ms)] if clock_ms > 0 else []
        parts = [WARM_UP] if self._warm_up else parts
        self._line.setText(" · ".join([*parts, state] if state else parts))
        wanted = max(1, self._tokens_wanted)
        self._bar.setValue(round(1000 * min(1.0, emitted / wanted)))

    def _place(self) -> None:
        top = row_in(spacing=8)
        top.addWidget(self._name, 1)
        for label in (self._rate, self._unit):
            top.addWidget(label, 0, Qt.AlignmentFlag.AlignBottom)
        head = column_in(spacing=2, margins=(18, 12, 18, 8))
        head.addLayout(top)
        head.addWidget(self._line)
        column = column_in(self, spacing=0, margins=(1, 1, 1, 1))
        column.addLayout(head)
        column.addWidget(self._bar)
        column.addWidget(self.tokens, 1)

    def _dress(self, theme: Theme) -> None:
        factor = self._factor
        role = "accepted" if self.lane is Lane.SPECULATIVE else "muted"
        self._name.setFont(enlarged(text_font(bold=True), factor * STAGE["name"]))
        self._rate.setFont(enlarged(token_font(bold=True), factor * STAGE["rate"]))
        self._rate.setStyleSheet(f"color: {theme.color(role).name()}")
        for label in (self._unit, self._line):
            label.setFont(enlarged(text_font(), factor * STAGE["line"]))
        self._unit.setContentsMargins(0, 0, 0, round(7 * factor))  # on the rate's line
        self.tokens.set_scale(round(factor * STAGE["token"], 2))
        self._bar.setFixedHeight(round(4 * factor))

    @Slot(object)
    def _on_theme_changed(self, theme: Theme) -> None:
        self._dress(theme)
