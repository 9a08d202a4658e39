"""How the window closes while something runs."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.jobs import State
from app.run_controller import RunController

PATIENCE_MS = 2000


class Leaving(QObject):
    """Stop what runs, wait until it has ended, leave at once if asked again.

    Signals:
        begun: asked for the first time.
        outlasted: what runs does not end soon, and must not be left.
        leave_wished: asked again, or decoding goes on long after it was asked.
        done: nothing runs any more.
    """

    begun = Signal()
    outlasted = Signal()
    leave_wished = Signal()
    done = Signal()

    def __init__(self, controller: RunController, parent: QObject) -> None:
        super().__init__(parent)
        self._controller = controller
        self.is_begun = self.is_done = False
        self.patience = QTimer(self, interval=PATIENCE_MS, singleShot=True)
        self.patience.timeout.connect(self._on_patience_over)
        controller.closed.connect(self._on_controller_closed)

    def ask(self) -> None:
        """Begin to close; asked once more, leave."""
        if self.is_begun:
            self.leave_wished.emit()
            return
        self.is_begun = True
        self.begun.emit()
        self.patience.start()
        self._controller.close()

    @Slot()
    def _on_controller_closed(self) -> None:
        self.patience.stop()
        self.is_done = True
        self.done.emit()

    @Slot()
    def _on_patience_over(self) -> None:
        if self._controller.state in (State.RUNNING, State.PAUSED):
            # Unlike a load, decoding writes nothing that could be left half written.
            self.leave_wished.emit()
        else:
            self.outlasted.emit()
