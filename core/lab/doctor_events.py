"""What a pair doctor is asked and what it tells. Standard library only."""

from __future__ import annotations

from dataclasses import dataclass

from core.config import ModelConfig
from core.errors import ConfigurationError
from core.events import LoadProgress

FITS, NOTED, NOT = "fits", "fits with a note", "does not fit"  # core.checkpoints' words
MOST_PROMPTS = 12
FEWEST_TOKENS = 16


@dataclass(frozen=True, slots=True)
class DoctorPlan:
    """Which target needs a draft, and how closely to look.

    Attributes:
        target: what the drafts are for.
        places: folders and files of the person, beside those that are known anyway.
        probe: load every draft that fits and decode a few prompts with it.
        prompts: how many of the library, of as many kinds.
        tokens: of each.
        temperature: of both models.

    Raises:
        ConfigurationError: if a number is outside its limits.
    """

    target: ModelConfig
    places: tuple[str, ...] = ()
    probe: bool = False
    prompts: int = 3
    tokens: int = 48
    temperature: float = 0.0

    def __post_init__(self) -> None:
        if not 1 <= self.prompts <= MOST_PROMPTS:
            raise ConfigurationError(
                f"--prompts is {self.prompts}; choose a number from 1 to "
                f"{MOST_PROMPTS}.",
                value=self.prompts,
            )
        if self.tokens < FEWEST_TOKENS:
            raise ConfigurationError(
                f"--max-new-tokens is {self.tokens}; choose {FEWEST_TOKENS} or more.",
                value=self.tokens,
            )


@dataclass(frozen=True, slots=True)
class DraftReport:
    """One checkpoint as a draft for the target.

    Attributes:
        reference: what loads it; ``lookup`` for prompt lookup.
        name: for people.
        fit: fits, fits with a note, or does not fit.
        reasons: sentences why it does not fit or could not be loaded.
        notes: sentences worth knowing about one that fits.
        cost_ratio: a step of the draft over one of the target; by the bytes that a step
            reads, or measured once it was probed. None where it is not known.
        probed: it was loaded and has decoded.
        acceptance_rate: accepted over tested when it was probed.
        tested: proposals behind that.
        best_lookahead: the K that should be fastest; 0 where none wins.
        predicted_speedup: at that K, from step costs and acceptance of the probe.
    """

    reference: str
    name: str
    fit: str
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    cost_ratio: float | None = None
    probed: bool = False
    acceptance_rate: float | None = None
    tested: int = 0
    best_lookahead: int | None = None
    predicted_speedup: float | None = None

    @property
    def fits(self) -> bool:
        """Whether it can propose for the target at all."""
        return self.fit != NOT

    @property
    def sentence(self) -> str:
        """The first reason or note, or an empty string."""
        return next(iter((*self.reasons, *self.notes)), "")


Reports = tuple[DraftReport, ...]


@dataclass(frozen=True, slots=True)
class DoctorStarted:
    """Every checkpoint is judged by its files; none is loaded yet.

    Attributes:
        target: its name.
        drafts: ranked.
        probe: those that fit are loaded next, one by one.
    """

    target: str
    drafts: Reports
    probe: bool


@dataclass(frozen=True, slots=True)
class DraftProbed:
    """One more draft has decoded.

    Attributes:
        draft: what is known of it now.
        drafts: all, ranked anew.
    """

    draft: DraftReport
    drafts: Reports


@dataclass(frozen=True, slots=True)
class DoctorFinished:
    """The doctor is done, or was stopped.

    Attributes:
        target: its name.
        drafts: ranked: by predicted speed-up, then by cost, those that do not fit last.
        advice: one sentence on what to take.
        cancelled: stopped by the person; what was found stays.
    """

    target: str
    drafts: Reports
    advice: str
    cancelled: bool = False


DoctorEvent = LoadProgress | DoctorStarted | DraftProbed | DoctorFinished


def ranked(drafts: Reports) -> Reports:
    """Return the drafts with the most promising first."""
    return tuple(sorted(drafts, key=_rank))


def _rank(draft: DraftReport) -> tuple[bool, bool, float, float, str]:
    speed, cost = draft.predicted_speedup, draft.cost_ratio
    return (
        not draft.fits,
        speed is None,
        -(speed or 0.0),
        float("inf") if cost is None else cost,
        draft.name,
    )


def advice_on(drafts: Reports) -> str:
    """Return one sentence on what to take, from ranked drafts."""
    first = next(iter(drafts), None)
    if first is None or not first.fits:
        return "No checkpoint here can draft for this target; make one, or get one."
    if first.predicted_speedup is None:
        return f"{first.name} is the cheapest that fits; probe to know what it brings."
    if not first.best_lookahead:
        return "None of these should be faster than plain decoding: use K = 0."
    return (
        f"{first.name} at K = {first.best_lookahead} should be "
        f"{first.predicted_speedup:.2f} times as fast as plain decoding (PREDICTED)."
    )
