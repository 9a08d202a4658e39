"""How long a distillation has taken, over all its sittings."""

from __future__ import annotations

import json
import time
from pathlib import Path

from core.distillation.plan import Stage

_FILE = "seconds.json"


class Stopwatch:
    """Adds up the seconds of each stage and keeps them in a file.

    Args:
        folder: where the file lies.
        budget: seconds that collecting and training have in this sitting.
    """

    def __init__(self, folder: Path, budget: float) -> None:
        self._file, self._budget = folder / _FILE, budget
        self._seconds = self._read()
        self._before = self.total
        self._begun = time.monotonic()

    def start(self) -> None:
        """Begin a stage."""
        self._begun = time.monotonic()

    def stop(self, stage: Stage) -> None:
        """End the stage that was begun."""
        self._seconds[stage.name.lower()] = self.of(stage) + self.lap
        self._begun = time.monotonic()
        self._file.write_text(json.dumps(self._seconds), encoding="utf-8")

    def seconds(self) -> dict[str, float]:
        """Return the seconds of every stage, by its name."""
        return dict(self._seconds)

    @property
    def lap(self) -> float:
        """Seconds since the stage began."""
        return time.monotonic() - self._begun

    def of(self, stage: Stage) -> float:
        """Return the seconds of a stage in all sittings that were stopped."""
        return self._seconds.get(stage.name.lower(), 0.0)

    @property
    def total(self) -> float:
        """Seconds of collecting and training in all sittings."""
        return self.of(Stage.COLLECTING) + self.of(Stage.TRAINING)

    @property
    def whole(self) -> float:
        """Seconds of all sittings, this one's budget included."""
        return self._before + self._budget

    @property
    def left(self) -> float:
        """Seconds of this sitting's budget that are left."""
        return max(0.0, self._budget - (self.total - self._before) - self.lap)

    @property
    def fraction(self) -> float:
        """Share of this sitting's budget that is spent."""
        return 1.0 - self.left / self._budget

    def _read(self) -> dict[str, float]:
        try:
            found = json.loads(self._file.read_text(encoding="utf-8"))
            return {str(name): float(seconds) for name, seconds in found.items()}
        except (OSError, ValueError, AttributeError, TypeError):
            return {}
