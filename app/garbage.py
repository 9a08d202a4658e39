"""Collecting cyclic garbage in the window's thread, and nowhere else.

Python collects in whichever thread happens to allocate. If that is a worker, a widget
that became part of a cycle is destroyed outside the window's thread, and the program
crashes. So automatic collection is off, and a timer does it where it is safe.
"""

from __future__ import annotations

import gc

from PySide6.QtCore import QObject, QTimer, Slot

PERIOD_MS = 500


class GarbageKeeper(QObject):
    """Collects young garbage often, and all of it when asked to.

    Signals:
        none.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._timer = QTimer(self, interval=PERIOD_MS)
        self._timer.timeout.connect(self._on_timeout)
        self._thresholds = gc.get_threshold()
        gc.disable()
        self._timer.start()

    def stop(self) -> None:
        """Let Python collect by itself again."""
        self._timer.stop()
        gc.unfreeze()
        gc.enable()

    @Slot()
    def collect_all(self) -> None:
        """Collect everything; it takes a moment, so only before a load.

        The core collects by itself around a load, in the worker: whatever could be
        harmed by that must be gone before.
        """
        gc.unfreeze()
        gc.collect()

    @Slot()
    def spare_the_loaded(self) -> None:
        """Never look again at what a load left: libraries and models stay anyway.

        A million objects of torch would otherwise be walked through in the middle of
        the first run, which holds the window up for a tenth of a second.
        """
        gc.freeze()

    @Slot()
    def _on_timeout(self) -> None:
        counts = gc.get_count()
        # The oldest generation is left alone: with torch in memory it holds so many
        # objects that a pass over them would make the window stutter.
        for generation in (1, 0):
            if counts[generation] > self._thresholds[generation]:
                gc.collect(generation)
                return
