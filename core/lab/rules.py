"""What other rules would have kept of the same proposals. Standard library only.

A round records, for every place that was judged, sums over the whole vocabulary: of
min(draft, target), the chance that Chen's rule keeps whatever is proposed there, and of
draft * target, the chance that two independent samples agree. So rules can be compared
at the same places without a model. The places are those that the run reached
by its own rule; another rule would have led to other texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from core.events import Event, Lane, Place, RoundFinished, RunStarted, Verdict
from core.metrics import expected_tokens, ratio

FEWEST_PLACES = 20


@dataclass(frozen=True, slots=True)
class RuleFigures:
    """One rule at the places of a run.

    Attributes:
        name: for people.
        lossless: the text keeps the target's law.
        does: what it does, in one sentence.
        acceptance: mean chance that a proposal is kept; None without a place.
        error: its standard error where it was counted, draw by draw, and not summed
            over the vocabulary; None for a sum.
        tokens_per_round: expected at that acceptance and the run's mean K.
        places: how many places it is a mean of.
    """

    name: str
    lossless: bool
    does: str
    acceptance: float | None
    error: float | None
    tokens_per_round: float | None
    places: int


@dataclass(frozen=True, slots=True)
class RuleLaw:
    """One rule on the small tree, summed exactly over every path.

    Attributes:
        name: for people.
        lossless: the text keeps the target's law.
        distance: total variation between the law of its texts and that of plain
            decoding: 0 for the same law, 1 for texts that share nothing.
        acceptance: expected accepted over expected tested proposals; None without any.
    """

    name: str
    lossless: bool
    distance: float
    acceptance: float | None


@dataclass(frozen=True, slots=True)
class LawsStarted:
    """The pair's logits are being read for the laws of the rules."""


@dataclass(frozen=True, slots=True)
class LawsSummed:
    """The laws of all rules on one pair and prompt.

    Attributes:
        laws: in the order of ``RULES``.
        outputs: how many texts each law is over.
        tokens: of each text.
        temperature: of both models.
    """

    laws: tuple[RuleLaw, ...]
    outputs: int
    tokens: int
    temperature: float


@dataclass(frozen=True, slots=True)
class _Rule:
    name: str
    lossless: bool
    does: str
    chance: Callable[[Place], float | None]
    counted: bool = False  # one draw a place, so the figure scatters


def _agrees(place: Place) -> float | None:
    agrees = place.shared_noise_agrees
    return None if agrees is None else float(agrees)


def _is_first_choice(place: Place) -> float | None:
    if not place.target_top:
        return None
    return float(place.target_top[0].token_id == place.token_id)


CHEN, SHARED, MATCH, GREEDY = (
    "Modified rejection (Chen)",
    "Shared noise",
    "Exact match of samples",
    "Greedy acceptance",
)
RULES = (
    _Rule(
        CHEN,
        True,
        "Kept with the chance target / draft; a refusal is mended from the residual. "
        "No lossless rule keeps more.",
        lambda place: place.overlap,
    ),
    _Rule(
        SHARED,
        True,
        "Draft and target draw with the same random numbers; kept where they agree.",
        _agrees,
        counted=True,
    ),
    _Rule(
        MATCH,
        True,
        "The target draws by itself; kept where the draft had drawn the same token.",
        lambda place: place.product,
    ),
    _Rule(
        GREEDY,
        False,
        "Kept where it is the target's most probable token: lossy above temperature 0.",
        _is_first_choice,
        counted=True,
    ),
)


def compare(events: Iterable[Event]) -> tuple[RuleFigures, ...]:
    """Return every rule's figures at the judged places of the last speculative run."""
    rounds = _last_run(events)
    judged = [p for r in rounds for p in r.places if p.verdict is not Verdict.DISCARDED]
    drafted = sum(r.lookahead for r in rounds)
    lookahead = round(ratio(drafted, sum(bool(r.places) for r in rounds)) or 0)
    return tuple(_figures(rule, judged, lookahead) for rule in RULES)


def _last_run(events: Iterable[Event]) -> list[RoundFinished]:
    rounds: list[RoundFinished] = []
    for event in events:
        if getattr(event, "lane", None) is not Lane.SPECULATIVE:
            continue
        if isinstance(event, RunStarted):
            rounds = []
        elif isinstance(event, RoundFinished):
            rounds.append(event)
    return rounds


def _figures(rule: _Rule, judged: Sequence[Place], lookahead: int) -> RuleFigures:
    chances = [c for c in map(rule.chance, judged) if c is not None]
    mean = ratio(sum(chances), len(chances))
    tokens = None if mean is None else expected_tokens(min(1.0, mean), lookahead)
    error = _error(mean, len(chances)) if rule.counted else None
    named = rule.name, rule.lossless, rule.does
    return RuleFigures(*named, mean, error, tokens, len(chances))


def _error(share: float | None, places: int) -> float | None:
    return None if share is None else (share * (1 - share) / places) ** 0.5
