"""Figure 1 of Chen et al. 2023 (arXiv:2302.01318) as numbers, to lay over one's own.

Chinchilla 70B with a draft of 4B, K = 0 to 7. What the text and the figure say to the
digit is kept as a *printed* point; between them runs Leviathan's closed form through
the printed end, so nobody takes a guess for a reading.
"""

from __future__ import annotations

from dataclasses import dataclass

from core import metrics
from core.lab.sweep_events import FIGURE_TOKENS

LOOKAHEADS = tuple(range(8))
TARGET_MS, DRAFT_MS = 14.1, 1.8
ROUND_MS_AT_7 = 28.6  # the right panel is a straight line from TARGET_MS to it


@dataclass(frozen=True, slots=True)
class PaperCurve:
    """One benchmark of the figure.

    Attributes:
        name: as the paper calls it.
        prompt_kind: the kind of our library that it is laid over.
        setting: how it was sampled.
        printed_ms_128: milliseconds for 128 tokens by K, as far as they can be read.
        printed_share: emitted / (K + 1) by K, as far as it can be read.
        acceptance: one rate that meets the printed share at K = 7.
        speedup: the paper's own, at K = 4.
    """

    name: str
    prompt_kind: str
    setting: str
    printed_ms_128: tuple[tuple[int, float], ...]
    printed_share: tuple[tuple[int, float], ...]
    acceptance: float
    speedup: float

    def ms_128(self) -> tuple[float, ...]:
        """Return milliseconds for 128 tokens at each K by the closed form."""
        return tuple(
            FIGURE_TOKENS * round_ms(k) / metrics.expected_tokens(self.acceptance, k)
            for k in LOOKAHEADS
        )

    def share(self) -> tuple[float, ...]:
        """Return emitted / (K + 1) at each K by the closed form."""
        return tuple(
            metrics.expected_tokens(self.acceptance, k) / (k + 1) for k in LOOKAHEADS
        )


def round_ms(lookahead: int) -> float:
    """Return the time of a round, the figure's right panel."""
    return TARGET_MS + (ROUND_MS_AT_7 - TARGET_MS) * lookahead / LOOKAHEADS[-1]


HUMAN_EVAL = PaperCurve(
    name="HumanEval",
    prompt_kind="code",
    setting="T = 0.8, top-p 0.95",
    printed_ms_128=((0, 1800.0), (6, 675.0), (7, 675.0)),
    printed_share=((0, 1.0), (7, 0.68)),
    acceptance=0.8859,
    speedup=2.46,
)
XSUM = PaperCurve(
    name="XSum",
    prompt_kind="summary",
    setting="top-p 0.8",
    printed_ms_128=((0, 1800.0), (3, 930.0)),
    printed_share=((0, 1.0), (7, 0.45)),
    acceptance=0.7500,
    speedup=1.92,
)
CURVES = (HUMAN_EVAL, XSUM)
