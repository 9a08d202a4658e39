"""A clock that runs at any speed, for whatever is played from recorded times."""

from __future__ import annotations

from PySide6.QtCore import QElapsedTimer, QObject, QTimer, Signal, Slot

FRAME_MS = 33


class Player(QObject):
    """Tells the time of a recording while it plays.

    Signals:
        ticked: the time in milliseconds since its beginning.
    """

    ticked = Signal(float)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.speed = 1.0
        self._clock_ms = 0.0
        self._since = QElapsedTimer()
        self._timer = QTimer(self, interval=FRAME_MS)
        self._timer.timeout.connect(self._on_frame_due)

    @property
    def is_running(self) -> bool:
        """Whether time passes."""
        return self._timer.isActive()

    def set_clock(self, clock_ms: float) -> None:
        """Let it be that time now."""
        self._clock_ms = clock_ms
        self._since.restart()

    def start(self) -> None:
        """Let time pass from where the clock stands."""
        self._since.restart()
        self._timer.start()

    def stop(self) -> None:
        """Hold the clock."""
        self._timer.stop()

    @Slot()
    def _on_frame_due(self) -> None:
        self._clock_ms += self.speed * self._since.restart()
        self.ticked.emit(self._clock_ms)
