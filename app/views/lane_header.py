"""What stands above a lane's text: who decodes, how fast, how far."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtGui import QFontMetrics, QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QLabel,
    QProgressBar,
    QVBoxLayout,
    QWidget,
)

from app.fonts import text_font, token_font
from app.theme import Theme, notifier, set_role
from app.views.elided import ElidedLabel
from core.events import Lane

NO_RATE = "–.– tok/s"
WIDEST = "K = 16", "000.0 tok/s"  # what stands side by side, at least
SIDE, GAP = 14, 6


class LaneHeader(QWidget):
    """Title and rate in one row, a quiet line below, a thin bar while prefilling.

    Signals:
        none.
    """

    def __init__(self, lane: Lane, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._lane = lane
        self._title = ElidedLabel("title")
        self._rate = QLabel(NO_RATE)
        self._line = ElidedLabel("muted")
        self._bar = QProgressBar(textVisible=False, maximum=1000)
        self._bar.setFixedHeight(2)
        self._arrange()
        self.set_progress(None)
        notifier().changed.connect(self._on_theme_changed)
        self._on_theme_changed(Theme.current())

    def _arrange(self) -> None:
        top = self._top = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        top.addWidget(self._title, 1)
        top.addWidget(self._rate)
        words = QVBoxLayout()
        words.setContentsMargins(SIDE, 9, SIDE, 5)
        words.setSpacing(2)
        words.addLayout(top)
        words.addWidget(self._line)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(words)
        layout.addWidget(self._bar)

    def set_title(self, text: str, *shorter: str) -> None:
        """Name the lane; ``shorter`` where the name has no room."""
        self._title.setText(text)
        self._title.set_shorter(*shorter)

    def set_rate(self, tokens_per_second: float | None) -> None:
        """Show the cumulative rate, or that there is none yet."""
        known = tokens_per_second is not None
        self._rate.setText(f"{tokens_per_second:.1f} tok/s" if known else NO_RATE)

    def clear(self) -> None:
        """Show neither a rate nor a line: nothing has run."""
        self._rate.clear()
        self.set_line("")
        self.set_progress(None)

    def set_line(self, text: str, role: str = "muted", *shorter: str) -> None:
        """Show how far the lane is, or what a person should know of it."""
        self._line.set_shorter(*shorter)
        if self._line.property("role") != role:
            set_role(self._line, role=role)
        self._line.setText(text)

    def set_progress(self, fraction: float | None) -> None:
        """Fill the thin bar, or empty it; it keeps its room either way."""
        self._bar.setValue(0 if fraction is None else round(1000 * fraction))

    def texts(self) -> tuple[str, str, str]:
        """Return title, rate and line as shown."""
        return self._title.text(), self._rate.text(), self._line.text()

    def _fit(self) -> None:
        """Put the rate under the title where they have no room side by side."""
        title, rate = WIDEST
        wide = QFontMetrics(text_font("title", bold=True)).horizontalAdvance(title)
        wide += self._rate.fontMetrics().horizontalAdvance(rate)
        beside = wide + GAP <= self.width() - 2 * SIDE
        box = QBoxLayout.Direction
        self._top.setDirection(box.LeftToRight if beside else box.TopToBottom)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    @Slot(object)
    def _on_theme_changed(self, theme: Theme) -> None:
        role = "accepted" if self._lane is Lane.SPECULATIVE else "muted"
        # Digits of one width, so that a growing number does not shift its neighbours.
        self._rate.setFont(token_font("title", bold=True))
        self._rate.setStyleSheet(f"color: {theme.color(role).name()}")
        self._fit()
        self._bar.setStyleSheet(
            f"QProgressBar {{ border: none; background: {theme.surfaces['track']}; }}"
            f"QProgressBar::chunk {{ background: {theme.surfaces['accent']}; }}"
        )
