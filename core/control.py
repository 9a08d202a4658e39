"""How a person steers a running generation from another thread."""

from __future__ import annotations

import threading

from core.config import DecodingConfig


class Control:
    """Thread-safe wishes of a person: settings, stop, pause, step.

    The core asks :meth:`should_stop` and :meth:`settings`; pause and step mean that the
    worker does not pull the next event, so the core knows nothing of them.
    """

    def __init__(self, settings: DecodingConfig | None = None) -> None:
        self._settings = settings or DecodingConfig()
        self._stop = threading.Event()
        self._go = threading.Condition()
        self._paused = False
        self._steps = 0

    def should_stop(self) -> bool:
        """Return whether the run must end before its next forward pass."""
        return self._stop.is_set()

    def settings(self) -> DecodingConfig:
        """Return the settings for the next round."""
        return self._settings  # one reference: reading and writing it is atomic

    def update(self, settings: DecodingConfig) -> None:
        """Let ``settings`` hold from the next round on."""
        self._settings = settings

    def stop(self) -> None:
        """End the run, also one that is paused. May be called more than once."""
        self._stop.set()
        with self._go:
            self._go.notify_all()

    def pause(self) -> None:
        """Hold the worker before it pulls the next round."""
        with self._go:
            self._paused = True
            self._steps = 0

    def resume(self) -> None:
        """Let the worker pull again."""
        with self._go:
            self._paused = False
            self._go.notify_all()

    def step(self) -> None:
        """Let a paused worker pull one more round."""
        with self._go:
            self._paused = True
            self._steps += 1
            self._go.notify_all()

    @property
    def paused(self) -> bool:
        """Whether the worker holds, or will before its next round."""
        return self._paused

    def wait_for_turn(self) -> None:
        """Block the worker while paused; each step lets it through once."""
        with self._go:
            self._go.wait_for(
                lambda: not self._paused or self._steps > 0 or self._stop.is_set()
            )
            self._steps = max(0, self._steps - 1)
