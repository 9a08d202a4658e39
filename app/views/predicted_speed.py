"""What each K should bring at the acceptance so far and the costs measured at load."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt

from app.fonts import text_font
from app.series import SteadyRange
from app.theme import Theme
from app.views.counted_rounds import CountedRounds
from app.views.plot_source import Table
from core.config import MAX_LOOKAHEAD, DecodingConfig
from core.events import Event, Lane, RoundFinished, RunStarted, StepCosts
from core.lab.advice import advise
from core.lab.cost_model import Prediction, at_context, best, by_place, curve

EVERY = 2  # a number under every second K: 17 of them would touch
_HEADROOM = 1.7  # over the curve, for the word at its best K, also in a low plot


class PredictedSpeed:
    """A PlotSource: tokens per second by K; PREDICTED, and dashed where untried."""

    title, unit, across = "Predicted speed", "tok/s", "K"
    empty = "nothing to predict from yet"

    def attach(self, plot: pg.PlotItem) -> None:
        """Create the items once."""
        self._plot = plot
        self.rounds = CountedRounds()
        self._known = pg.PlotDataItem(antialias=True)
        self._beyond = pg.PlotDataItem(antialias=True)
        self._marks = pg.ScatterPlotItem(size=9)
        self._texts = [pg.TextItem(anchor=(0.5, 1.1)) for _ in range(2)]
        self._top = SteadyRange(1.0)
        for item in (self._known, self._beyond, self._marks):
            plot.addItem(item)
        for text in self._texts:
            plot.addItem(text, ignoreBounds=True)
        ticks = [(k, str(k)) for k in range(0, MAX_LOOKAHEAD + 1, EVERY)]
        plot.getAxis("bottom").setTicks([ticks])
        plot.getViewBox().setXRange(-1, MAX_LOOKAHEAD + 1, padding=0)
        self._forget()

    def _forget(self) -> None:
        self._costs: StepCosts | None = None
        self._settings = DecodingConfig()
        self._now = self._prompt = 0

    def on_event(self, event: Event) -> bool:
        """Take in an event of the speculative lane."""
        changed = self.rounds.on_event(event)
        if changed and isinstance(event, RunStarted):
            self._costs, self._settings = event.costs, event.settings
            self._now = event.settings.lookahead
            self._prompt = len(event.prompt)
        elif changed and isinstance(event, RoundFinished):
            chosen = event.auto_lookahead
            self._settings = event.settings
            self._now = event.settings.lookahead if chosen is None else chosen
        return changed

    def clear(self) -> None:
        """Forget everything."""
        self.rounds.clear()
        self._top.reset()
        self._forget()

    def show_rounds(self, shown: Mapping[Lane, int]) -> None:
        """Predict from the first rounds only."""
        self.rounds.show_rounds(shown)

    def predictions(self) -> tuple[Prediction, ...]:
        """Return what each K should bring; empty where too little is known."""
        counted = self.rounds.statistics
        acceptance = by_place(
            counted.acceptance_by_place(),
            counted.acceptance_rate,
            1.0 if counted.proposed is None else counted.proposed,
        )
        if self._costs is None or acceptance is None:
            return ()
        costs = at_context(self._costs, self._prompt + counted.counts.emitted)
        return curve(costs, acceptance, greedy=self._greedy)

    @property
    def _greedy(self) -> bool:
        return self._settings.temperature == 0

    def draw(self) -> None:
        """Put the curve, the present and the best K into the items."""
        found = self.predictions()
        tried = self.rounds.statistics.deepest_place
        rates = np.array([1000 / p.ms_per_token for p in found])
        lookaheads = np.arange(len(rates), dtype=float)
        self._known.setData(lookaheads[: tried + 1], rates[: tried + 1])
        self._beyond.setData(lookaheads[tried:], rates[tried:])
        self._mark(rates, best(found).lookahead if found else None)
        highest = float(rates.max()) if len(rates) else 0.0
        top = self._top.fit(_HEADROOM * highest)
        self._plot.getViewBox().setYRange(0, top, padding=0)

    def _mark(self, rates: np.ndarray, top: int | None) -> None:
        """Mark the present and the best K; one mark where they are the same."""
        words: dict[int, str] = {}
        if top is not None:
            words = {self._now: "now", top: "best"}
            if top == self._now:
                words = {top: "now = best"}
        self._marks.setData(list(words), [float(rates[k]) for k in words])
        for text, (k, word) in zip(self._texts, words.items(), strict=False):
            text.setText(word)
            text.setPos(k, float(rates[k]))
            # Under the curve and over it, so that neighbours do not run together.
            text.setAnchor((0.5, -0.1 if word == "now" else 1.1))
        for i, text in enumerate(self._texts):
            text.setVisible(i < len(words))

    def restyle(self, theme: Theme) -> None:
        """Take the theme's colours."""
        self._known.setPen(theme.pen("accepted"))
        self._beyond.setPen(theme.pen("accepted", Qt.PenStyle.DashLine))
        self._marks.setPen(theme.pen("accepted"))
        self._marks.setBrush(theme.brush("accepted"))
        for text in self._texts:
            text.setColor(theme.color("text"))
            text.setFont(text_font("small"))

    def mark_round(self, lane: Lane | None, round_index: int) -> None:
        """Light nothing: the curve is of all rounds."""

    def round_at(self, x: float) -> tuple[Lane, int] | None:
        """Return no round: a point is of a K."""
        return None

    def is_empty(self) -> bool:
        """Return whether nothing can be predicted yet."""
        return not self.predictions()

    def key(self, theme: Theme) -> str:
        """Return that these numbers are predicted, and what is dashed."""
        if self.is_empty():
            return ""
        if self.rounds.statistics.deepest_place == MAX_LOOKAHEAD:
            return "PREDICTED"
        color = theme.color("accepted", "line").name()
        return f'PREDICTED <span style="color:{color}">╌</span>&thinsp;untried'

    def note(self) -> str:
        """Return since when is counted."""
        return self.rounds.since

    def advice(self) -> str:
        """Return one sentence on what to do; empty while too little is known."""
        counted = self.rounds.statistics
        if self._costs is None or self._settings.auto_lookahead:
            return ""
        return advise(
            counted.acceptance_by_place(),
            counted.acceptance_rate,
            counted.since_change.rounds,
            self._now,
            self._costs,
            greedy=self._greedy,
            proposed=1.0 if counted.proposed is None else counted.proposed,
        )

    def table(self) -> Table:
        """Return K, tokens per second, tokens a round, milliseconds a round."""
        rows: list[tuple[object, ...]] = [
            (p.lookahead, 1000 / p.ms_per_token, p.tokens, p.round_ms, p.speedup)
            for p in self.predictions()
        ]
        names = ("K", "tokens/s PREDICTED", "tokens a round", "ms a round", "speed-up")
        return names, rows

    def summary(self) -> str:
        """Return the present and the best K in words."""
        found = self.predictions()
        if not found:
            return self.empty
        first, top = found[self._now], best(found)
        return (
            f"predicted {1000 / first.ms_per_token:.1f} tokens per second at K = "
            f"{self._now}, best {1000 / top.ms_per_token:.1f} at K = {top.lookahead}. "
            f"{self.advice()}"
        ).strip()
