"""What a run or race suggests once it is over. Standard library only."""

from __future__ import annotations

from dataclasses import replace

from core.config import DecodingConfig
from core.events import Event, Lane, RoundFinished, RunStarted, StepCosts
from core.lab.advice import advise
from core.metrics import RunStatistics


class RunAdvice:
    """Hears the events of a run or race; all its counted repeats count together.

    The last settings count: what was measured under earlier ones is left out.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._counted = RunStatistics(Lane.SPECULATIVE)
        self._costs: StepCosts | None = None
        self._last = self._settings = DecodingConfig()
        self._warming_up = False

    def on_event(self, event: Event) -> None:
        """Take in one event; only those of the speculative lane count."""
        if getattr(event, "lane", None) is not Lane.SPECULATIVE:
            return
        if isinstance(event, RunStarted):
            self._costs, self._warming_up = event.costs, event.warm_up
        elif isinstance(event, RoundFinished) and not self._warming_up:
            self._take_over(event.settings)
            self._counted.on_event(replace(event, settings=self._settings))

    def _take_over(self, settings: DecodingConfig) -> None:
        """Keep the settings; the seed, which repeats change, is no other setting."""
        if settings is not self._last:
            self._last, self._settings = settings, replace(settings, seed=0)

    def sentence(self) -> str:
        """Return one sentence on what to do; empty while too little is known."""
        if self._costs is None or self._settings.auto_lookahead:
            return ""
        counted = self._counted
        return advise(
            counted.acceptance_by_place(),
            counted.acceptance_rate,
            counted.since_change.rounds,
            self._settings.lookahead,
            self._costs,
            greedy=self._settings.temperature == 0,
            proposed=1.0 if counted.proposed is None else counted.proposed,
        )
