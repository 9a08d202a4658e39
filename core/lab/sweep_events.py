"""What a sweep is asked and what it tells. Standard library only, for whoever shows it.

A sweep decodes a set of prompts at every K and temperature of a grid, by turns with the
plain baseline. A *turn* is one prompt at one temperature in one repeat: the plain
decoding and one decoding for each K, with one seed, one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from core.config import MAX_LOOKAHEAD, DecodingConfig, describe
from core.errors import ConfigurationError
from core.events import Counts, LoadProgress, Machine, ModelFacts, StepCosts

AUTO = -1  # the lookahead of a column in which K is chosen from round to round
ALL_KINDS = "all"  # the prompt kind of a cell that pools every prompt
MAX_REPEATS = 100
GRID_TOKENS = 96
FIGURE_TOKENS = 128
# One of each of four kinds that differ in acceptance; 8 x 4 cells of them take some
# twenty minutes for the demo pair on two cores.
GRID_KINDS = ("code", "summary", "prose", "repetition")
FIGURE_KINDS = ("code", "summary")  # the paper has HumanEval and XSum


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """The grid of a sweep.

    Attributes:
        lookaheads: each K; 0 stands for the plain baseline itself, ``AUTO`` for
            one that is chosen from round to round.
        temperatures: each temperature.
        kinds: prompt kinds of the library.
        prompts_per_kind: how many prompts of each kind.
        repeats: counted repeats; one more goes before them and is discarded.
        settings: everything else; repeat r has its seed + r.

    Raises:
        ConfigurationError: if the grid is empty or a value is outside its limits.
    """

    lookaheads: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7, 8)
    temperatures: tuple[float, ...] = (0.0, 0.5, 0.8, 1.0)
    kinds: tuple[str, ...] = GRID_KINDS
    prompts_per_kind: int = 1
    repeats: int = 3
    settings: DecodingConfig = field(
        default_factory=lambda: DecodingConfig(max_new_tokens=GRID_TOKENS)
    )

    def __post_init__(self) -> None:
        fixed = tuple(k for k in self.lookaheads if k != AUTO)
        if not self.lookaheads or fixed:
            _require_values("--k", fixed, 0, MAX_LOOKAHEAD)
        hottest = describe()["temperature"].maximum or 0.0
        _require_values("--temperature", self.temperatures, 0, hottest)
        _require_values("--repeats", (self.repeats,), 1, MAX_REPEATS)
        _require_values("--prompts", (self.prompts_per_kind,), 1, MAX_REPEATS)
        if not self.kinds:
            raise ConfigurationError(
                "A sweep without a prompt kind decodes nothing; name one, such as code."
            )

    @classmethod
    def figure_1(cls, settings: DecodingConfig | None = None) -> SweepPlan:
        """Return the plan of Figure 1 of arXiv:2302.01318 for a pair of one's own."""
        settings = settings or DecodingConfig(
            temperature=0.8, top_p=0.95, max_new_tokens=FIGURE_TOKENS, ignore_eos=True
        )
        return cls(
            lookaheads=tuple(range(8)),
            temperatures=(settings.temperature,),
            kinds=FIGURE_KINDS,
            prompts_per_kind=2,
            repeats=4,
            settings=settings,
        )

    @property
    def num_cells(self) -> int:
        """Cells of the map that pools all kinds."""
        return len(self.lookaheads) * len(self.temperatures)


def lookahead_name(lookahead: int) -> str:
    """Return what a column of the map is called."""
    if lookahead == AUTO:
        return "auto K"
    return f"K = {lookahead}" if lookahead else "plain"


def in_order(lookaheads: Iterable[int]) -> tuple[int, ...]:
    """Return the lookaheads by size, the automatic one at the end."""
    return tuple(sorted(set(lookaheads), key=lambda k: (k == AUTO, k)))


def _require_values(
    name: str, values: tuple[float, ...], low: float, high: float
) -> None:
    if not values:
        raise ConfigurationError(f"{name} has no value; give at least one.")
    for value in values:
        if not low <= value <= high:
            raise ConfigurationError(
                f"{name} is {value:g}; choose values from {low:g} to {high:g}.",
                value=value,
            )


@dataclass(frozen=True, slots=True)
class SweepCell:
    """One K at one temperature, over the prompts of one kind or of all.

    All times are without prefill. Where nothing is under a ratio it is None.

    Attributes:
        lookahead: K; 0 is the plain baseline itself, ``AUTO`` an automatic one.
        temperature: of draft and target.
        prompt_kind: a kind of the library, or ``all``.
        runs: counted decodings behind the figures; 0 for a cell not reached yet.
        complete: every repeat of every prompt is in.
        counts: of all counted decodings together.
        ms_per_token: median over the repeats, all prompts of a repeat together.
        speedup: plain over this cell's ``ms_per_token`` in the same repeat, the median.
        speedup_low: the smallest repeat's.
        speedup_high: the largest repeat's.
        predicted_speedup: from the step costs and from the acceptance in *other* runs:
            those of the same prompts at every other K of the grid. Never from the runs
            that it stands beside. An automatic K's is that of the best one.
        acceptance_rate: accepted over tested.
        acceptance_by_place: accepted at a place over rounds that drafted it.
        tokens_per_round: emitted over rounds.
        papers_acceptance: emitted over (drafted + rounds), Figure 1's middle panel.
        round_ms: mean time of a round, Figure 1's right panel.
        ms_128_mean: mean time of 128 tokens over the decodings, Figure 1's left panel.
        ms_128_spread: their standard deviation.
        ms_128_p90: their 90th percentile.
    """

    lookahead: int
    temperature: float
    prompt_kind: str = ALL_KINDS
    runs: int = 0
    complete: bool = False
    counts: Counts = Counts()
    ms_per_token: float | None = None
    speedup: float | None = None
    speedup_low: float | None = None
    speedup_high: float | None = None
    predicted_speedup: float | None = None
    acceptance_rate: float | None = None
    acceptance_by_place: tuple[float | None, ...] = ()
    tokens_per_round: float | None = None
    papers_acceptance: float | None = None
    round_ms: float | None = None
    ms_128_mean: float | None = None
    ms_128_spread: float | None = None
    ms_128_p90: float | None = None


@dataclass(frozen=True, slots=True)
class SweepStarted:
    """A sweep begins, or goes on where it was interrupted.

    Attributes:
        run_id: names it in all its events.
        plan: the grid.
        target: the target's facts.
        draft: the drafter's facts.
        machine: what it runs on.
        costs: the step costs that predictions are made from.
        cells: every cell of the grid in order, with what earlier sweeps have left; the
            pooled cells first, then those of each kind.
        done_runs: decodings that need not be run again.
        total_runs: decodings of the whole grid, warm-up not counted.
        file: name of the file that results go to, without its folder.
    """

    run_id: str
    plan: SweepPlan
    target: ModelFacts
    draft: ModelFacts | None
    machine: Machine
    costs: StepCosts
    cells: tuple[SweepCell, ...]
    done_runs: int
    total_runs: int
    file: str


@dataclass(frozen=True, slots=True)
class SweepProgress:
    """A decoding begins.

    Attributes:
        run_id: the sweep.
        lookahead: K of the decoding that begins; ``AUTO`` where it is chosen.
        temperature: its temperature.
        prompt_kind: its kind.
        repeat: 0 for the warm-up, then 1, 2, 3.
        done_runs: decodings behind it.
        total_runs: decodings of the whole grid.
        seconds_left: estimated from the decodings so far; None before the first.
    """

    run_id: str
    lookahead: int
    temperature: float
    prompt_kind: str
    repeat: int
    done_runs: int
    total_runs: int
    seconds_left: float | None


@dataclass(frozen=True, slots=True)
class CellFinished:
    """A cell has new figures: those of one more turn.

    A sweep goes over the whole map once in every repeat, so that a first picture stands
    after a third of the time; each cell comes again until it is ``complete``.

    Attributes:
        run_id: the sweep.
        cell: its figures so far.
    """

    run_id: str
    cell: SweepCell


@dataclass(frozen=True, slots=True)
class SweepFinished:
    """A sweep ended.

    Attributes:
        run_id: the sweep.
        cells: as in SweepStarted, with all that is known now.
        best: the pooled cell with the largest speed-up; None without one.
        advice: one sentence on what to do.
        cancelled: ended early by the person; started again it goes on from here.
    """

    run_id: str
    cells: tuple[SweepCell, ...]
    best: SweepCell | None
    advice: str
    cancelled: bool = False


SweepEvent = LoadProgress | SweepStarted | SweepProgress | CellFinished | SweepFinished
