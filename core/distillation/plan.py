"""What a distillation is asked, and what it tells while it goes on: plain values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from core.config import ModelConfig
from core.errors import ConfigurationError
from core.events import Machine

SIZES = ("tiny", "small")
MOST_PROMPTS = 1000  # of a kind
LEAST_MINUTES, MOST_MINUTES = 0.01, 10_000.0


class Stage(StrEnum):
    """What is being done."""

    LOADING = "Loading the target"
    COLLECTING = "Collecting the target's texts"
    TRAINING = "Training the draft"
    MEASURING = "Measuring the draft"


@dataclass(frozen=True, slots=True)
class DistillPlan:
    """A draft to be made.

    Attributes:
        target: whose texts it learns from.
        out: the folder that becomes the draft.
        size: one of ``SIZES``, or the path of a config.json of the draft's shape.
        prompts: a file of prompts; an empty string takes the library.
        minutes: for collecting and training together; measuring comes on top.
        resume: go on with what was begun in ``out``.
        seed: of all draws.
        measure: only measure the draft in ``out`` again, on this many held-out prompts
            of each kind; 0 makes a draft.

    Raises:
        ConfigurationError: if a value is outside its limits.
    """

    target: ModelConfig
    out: str
    size: str = SIZES[0]
    prompts: str = ""
    minutes: float = 60.0
    resume: bool = False
    seed: int = 0
    measure: int = 0

    def __post_init__(self) -> None:
        if not self.out.strip():
            raise ConfigurationError("The draft needs a folder; name one.")
        if not LEAST_MINUTES <= self.minutes <= MOST_MINUTES:  # NaN fails here too
            raise ConfigurationError(
                f"The time is {self.minutes:g} minutes; choose {LEAST_MINUTES:g} to "
                f"{MOST_MINUTES:g}.",
                minutes=self.minutes,
            )
        if not 0 <= self.measure <= MOST_PROMPTS:
            raise ConfigurationError(
                f"The draft cannot be measured on {self.measure} prompts of each kind; "
                f"choose 1 to {MOST_PROMPTS}.",
                measure=self.measure,
            )
        if self.size not in SIZES and not Path(self.size).expanduser().is_file():
            raise ConfigurationError(
                f"The size {self.size!r} is not known; choose {', '.join(SIZES)} or "
                "the path of a config.json.",
                size=self.size,
            )


@dataclass(frozen=True, slots=True)
class DistillProgress:
    """How far a distillation is.

    Attributes:
        stage: what is being done.
        fraction: of the whole, 0 to 1; None where nobody knows.
        seconds_left: of the whole, as far as known.
        tokens: collected or trained on so far in this stage.
        loss: of the last steps, while training.
        acceptance: expected on held-out texts (mean of the sums of min(draft, target)),
            where it was just measured.
        detail: a few words more.
    """

    stage: Stage
    fraction: float | None = None
    seconds_left: float | None = None
    tokens: int = 0
    loss: float | None = None
    acceptance: float | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class KindFigures:
    """What the draft reached on held-out prompts of one kind.

    Attributes:
        kind: of the prompts.
        temperature: 0 or 1.
        prompts: how many.
        acceptance: accepted over tested; None if nothing was tested.
        tokens_per_round: emitted over rounds.
        speedup: plain over speculative milliseconds per token, median over prompts;
            None where no text was long enough.
    """

    kind: str
    temperature: float
    prompts: int
    acceptance: float | None
    tokens_per_round: float | None
    speedup: float | None


@dataclass(frozen=True, slots=True)
class SpeedFigures:
    """What the pair costs and gains at one temperature.

    Attributes:
        temperature: 0 or 1.
        acceptance: accepted over tested, over all prompts.
        tokens_per_round: emitted over rounds, over all prompts.
        predicted: speed-up from the step costs and the measured rounds.
        measured: median over the prompts.
    """

    temperature: float
    acceptance: float | None
    tokens_per_round: float | None
    predicted: float | None
    measured: float | None


@dataclass(frozen=True, slots=True)
class LookaheadFigures:
    """What one K gained in the short races that K was chosen by.

    Attributes:
        lookahead: K.
        speedups: medians over prompts, at temperature 0 and 1; None where no text was
            long enough.
    """

    lookahead: int
    speedups: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class DraftFigures:
    """Everything that was measured of a finished draft.

    Attributes:
        lookahead: K of all rounds, the best of those that were tried.
        target_ms: one step of the target.
        draft_ms: one step of the draft.
        speeds: by temperature.
        kinds: by kind and temperature.
        machine: what it was measured on.
        tried: every K that was tried before.
    """

    lookahead: int
    target_ms: float
    draft_ms: float
    speeds: tuple[SpeedFigures, ...]
    kinds: tuple[KindFigures, ...]
    machine: Machine
    tried: tuple[LookaheadFigures, ...] = ()

    @property
    def cost_ratio(self) -> float:
        """Draft step over target step, called c."""
        return self.draft_ms / self.target_ms


@dataclass(frozen=True, slots=True)
class DistillFinished:
    """A distillation ended.

    Attributes:
        folder: the draft's; an empty string where there is none yet.
        cancelled: ended early by the person.
        tokens: of the target's texts that were collected.
        seconds: of collecting and training, over all sittings.
        acceptance: expected on held-out texts; None before training.
        figures: what was measured; None when cancelled before.
    """

    folder: str
    cancelled: bool
    tokens: int
    seconds: float
    acceptance: float | None
    figures: DraftFigures | None = None


DistillEvent = DistillProgress | DistillFinished
