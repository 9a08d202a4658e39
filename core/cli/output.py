"""What commands print: JSON for machines, colours and short lines for people."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from core import metrics
from core.codec import encode
from core.events import Counts, LaneSummary, Origin, RoundFinished, StopReason

_RESET = "\x1b[0m"
# Colour and underline or weight, so that no one needs colour to read it.
_STYLES = {
    Origin.ACCEPTED: "\x1b[32;4m",
    Origin.RESAMPLED: "\x1b[33;1m",
    Origin.BONUS: "\x1b[36m",
    Origin.PLAIN: "",
    Origin.PROMPT: "\x1b[2m",
}


def print_json(value: Any) -> None:
    """Print one object on standard output."""
    print(json.dumps(value, allow_nan=False, ensure_ascii=False))


def counts_json(counts: Counts) -> dict[str, Any]:
    """Return the counts and the ratios that are derived from them."""
    return {
        **encode(counts),
        "acceptance_rate": metrics.acceptance_rate(counts),
        "draft_efficiency": metrics.draft_efficiency(counts),
        "tokens_per_round": metrics.tokens_per_round(counts),
        "papers_acceptance": metrics.papers_acceptance(counts),
    }


def summary_json(summary: LaneSummary) -> dict[str, Any]:
    """Return a lane's totals as DESIGN.md names them."""
    values = encode(summary)
    values["counts"] = counts_json(summary.counts)
    return values


class TokenPrinter:
    """Prints tokens as they are committed, coloured by origin on a terminal.

    Text that may be the start of a stop string waits until it is known not to be.
    """

    def __init__(self) -> None:
        self._colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        self._waiting: list[tuple[str, Origin]] = []

    def on_round(self, event: RoundFinished) -> None:
        """Print what is safe to show after this round."""
        self._waiting += [(t.text, t.origin) for t in event.tokens]
        total = sum(len(text) for text, _ in self._waiting)
        self._print(total - event.held_characters)

    def finish(self, summary: LaneSummary, shown_before: int = 0) -> None:
        """Print the rest of the text, up to the stop string."""
        self._print(max(0, len(summary.text) - self._shown))
        print()

    _shown = 0

    def _print(self, characters: int) -> None:
        while self._waiting and characters > 0:
            text, origin = self._waiting.pop(0)
            if len(text) > characters:
                self._waiting.insert(0, (text[characters:], origin))
                text = text[:characters]
            characters -= len(text)
            self._shown += len(text)
            print(self._styled(text, origin), end="", flush=True)

    def _styled(self, text: str, origin: Origin) -> str:
        style = _STYLES[origin]
        return f"{style}{text}{_RESET}" if self._colour and style and text else text


def share(value: float | None) -> str:
    """Return a ratio in per cent, or a dash where nothing is under it."""
    return "–" if value is None else f"{100 * value:.1f} %"


def number(value: float | None, digits: int = 2, unit: str = "") -> str:
    """Return a number with its unit, or a dash."""
    return "–" if value is None else f"{value:.{digits}f}{unit}"


def totals(summary: LaneSummary) -> list[str]:
    """Return the totals of a lane as lines for people."""
    counts = summary.counts
    ended = {
        StopReason.EOS: "end of text",
        StopReason.STOP: "stop string",
        StopReason.LENGTH: "max new tokens",
        StopReason.CONTEXT: "context full",
        StopReason.CANCELLED: "cancelled",
        StopReason.ERROR: "error",
    }[summary.stop_reason]
    mixed = " (mixed settings)" if summary.mixed_settings else ""
    return [
        f"{counts.emitted} tokens in {counts.rounds} rounds, "
        f"{number(metrics.tokens_per_round(counts))} a round; ended: {ended}{mixed}",
        f"drafted {counts.drafted}, tested {counts.tested}, accepted "
        f"{counts.accepted}, resampled {counts.resampled}, bonus {counts.bonus}; "
        f"acceptance rate {share(metrics.acceptance_rate(counts))} (accepted / tested)",
        f"{number(summary.ms_per_token)} ms per token, "
        f"{number(summary.tokens_per_second, 1)} tokens per second, first token after "
        f"{number(summary.time_to_first_token_ms, 0)} ms, total "
        f"{number(summary.total_ms, 0)} ms",
    ]
