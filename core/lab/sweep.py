"""Decoding a grid of K and temperature by turns, kept as it goes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from core.checkpoints.loading import LoadedModel
from core.config import DecodingConfig, DecodingRequest
from core.decoding.lane import LanePlan, LaneRun
from core.decoding.prompting import encode_prompt
from core.drafters.protocol import Drafter
from core.errors import ConfigurationError
from core.events import (
    Lane,
    Machine,
    ModelFacts,
    RoundFinished,
    RunFinished,
    StepCosts,
    StopReason,
    Verdict,
)
from core.lab.advice import advise_on_sweep
from core.lab.sweep_events import (
    ALL_KINDS,
    AUTO,
    CellFinished,
    SweepEvent,
    SweepFinished,
    SweepPlan,
    SweepProgress,
    SweepStarted,
)
from core.lab.sweep_runs import SweepRun, all_cells, best_cell, cell
from core.lab.sweep_store import SweepFile
from core.prompts import Prompt, library

WARM_UP_TOKENS = 16
Turn = tuple[float, Prompt, int]  # temperature, prompt, repeat


@dataclass(frozen=True, slots=True)
class SweptPair:
    """What is swept.

    Attributes:
        target: the loaded target.
        draft: the drafter's facts.
        new_drafter: makes a drafter for a capacity in tokens.
        costs: of the pair's steps.
        machine: what it runs on.
        time_steps: times the steps once more, in less than a second; None when stopped.
    """

    target: LoadedModel
    draft: ModelFacts
    new_drafter: Callable[[int], Drafter]
    costs: StepCosts
    machine: Machine
    time_steps: Callable[[StepCosts], StepCosts | None]


def sweep_prompts(plan: SweepPlan) -> tuple[Prompt, ...]:
    """Return the prompts of a plan, from the library.

    Raises:
        ConfigurationError: if a kind is not known or has not as many.
    """
    found: list[Prompt] = []
    for kind in plan.kinds:
        prompts = [prompt for prompt in library() if prompt.kind == kind]
        if len(prompts) < plan.prompts_per_kind:
            known = ", ".join(dict.fromkeys(prompt.kind for prompt in library()))
            raise ConfigurationError(
                f"There are {len(prompts)} prompts of kind {kind!r}, not "
                f"{plan.prompts_per_kind}; choose fewer, or one of {known}.",
                kind=kind,
            )
        found += prompts[: plan.prompts_per_kind]
    return tuple(found)


class Sweep:
    """One sweep, or the rest of one.

    Args:
        plan: the grid.
        pair: what is swept.
        file: where results go; what it holds already is not run again.
        run_id: for the events.
        should_stop: asked between rounds.
    """

    def __init__(
        self,
        plan: SweepPlan,
        pair: SweptPair,
        file: SweepFile,
        run_id: str,
        should_stop: Callable[[], bool],
    ) -> None:
        self._plan, self._pair, self._file = plan, pair, file
        self._run_id, self._should_stop = run_id, should_stop
        self._lookaheads = tuple(dict.fromkeys((0, *plan.lookaheads)))
        self._turns = _turns(plan)
        self._total = len(self._turns) * len(self._lookaheads)
        self._begin, self._made = 0.0, 0

    def events(self) -> Iterator[SweepEvent]:
        """Yield SweepStarted, progress and cells, and SweepFinished at the end."""
        yield self._started()
        missing = [turn for turn in self._turns if not self._is_known(turn)]
        if missing:
            yield from self._warm_up(missing[0])
        self._begin = time.perf_counter()
        for turn in missing:
            yield from self._play(turn)
            if self._should_stop():
                break
        yield self._finished()

    def _started(self) -> SweepStarted:
        pair, plan = self._pair, self._plan
        return SweepStarted(
            run_id=self._run_id,
            plan=plan,
            target=pair.target.model.facts,
            draft=pair.draft,
            machine=pair.machine,
            costs=pair.costs,
            cells=all_cells(plan, self._file.runs, pair.costs),
            done_runs=self._done(),
            total_runs=self._total,
            file=self._file.path.name,
        )

    def _finished(self) -> SweepFinished:
        cells = all_cells(self._plan, self._file.runs, self._pair.costs)
        advice = advise_on_sweep(cells, self._pair.costs)
        whole = self._done() == self._total
        return SweepFinished(self._run_id, cells, best_cell(cells), advice, not whole)

    def _done(self) -> int:
        return sum(map(self._is_known, self._turns)) * len(self._lookaheads)

    def _is_known(self, turn: Turn) -> bool:
        """Return whether all of a turn is in the file; half of one does not count."""
        temperature, prompt, repeat = turn
        name = (temperature, prompt.kind, prompt.title, repeat)
        known = {run.lookahead for run in self._file.runs if run.turn == name}
        return known.issuperset(self._lookaheads)

    def _warm_up(self, turn: Turn) -> Iterator[SweepEvent]:
        """Decode a few tokens both ways; nothing of it is kept."""
        temperature, prompt, _ = turn
        for lookahead in (0, max(self._lookaheads) or AUTO):
            if self._should_stop():
                return
            warm = (temperature, prompt, 0)
            yield self._progress(warm, lookahead, self._done())
            self._decode(warm, lookahead, WARM_UP_TOKENS)

    def _play(self, turn: Turn) -> Iterator[SweepEvent]:
        """Decode one prompt at every K; who begins changes from repeat to repeat."""
        done, runs = self._done(), list[SweepRun]()
        costs = self._pair.time_steps(self._pair.costs)
        shift = turn[2] % len(self._lookaheads)
        order = self._lookaheads[shift:] + self._lookaheads[:shift]
        for lookahead in order:
            yield self._progress(turn, lookahead, done + len(runs))
            run = self._decode(turn, lookahead, self._plan.settings.max_new_tokens)
            if run is None:
                return
            runs.append(replace(run, costs=costs) if lookahead == 0 else run)
            self._made += 1
        self._file.append(runs)
        yield from self._cells(turn)

    def _cells(self, turn: Turn) -> Iterator[CellFinished]:
        temperature, prompt, _ = turn
        for kind in (ALL_KINDS, prompt.kind):
            for lookahead in self._plan.lookaheads:
                found = cell(
                    self._plan,
                    self._file.runs,
                    self._pair.costs,
                    lookahead,
                    temperature,
                    kind,
                )
                yield CellFinished(self._run_id, found)

    def _progress(self, turn: Turn, lookahead: int, done: int) -> SweepProgress:
        temperature, prompt, repeat = turn
        left = None
        if self._made:
            each = (time.perf_counter() - self._begin) / self._made
            left = each * (self._total - done)
        return SweepProgress(
            run_id=self._run_id,
            lookahead=lookahead,
            temperature=temperature,
            prompt_kind=prompt.kind,
            repeat=repeat,
            done_runs=done,
            total_runs=self._total,
            seconds_left=left,
        )

    def _decode(self, turn: Turn, lookahead: int, tokens: int) -> SweepRun | None:
        """Decode one prompt at one K; None when stopped in the middle."""
        temperature, prompt, repeat = turn
        settings = self._settings(turn, lookahead, tokens)
        lane = self._lane(prompt, settings, plain=lookahead == 0)
        run = LaneRun(lane, lambda: settings, self._should_stop)
        rounds, summary = [], None
        for event in run.events():
            if isinstance(event, RoundFinished):
                rounds.append(event)
            elif isinstance(event, RunFinished):
                summary = event.summary
        if summary is None or summary.stop_reason is StopReason.CANCELLED:
            return None
        return SweepRun(
            lookahead=lookahead,
            temperature=temperature,
            prompt_kind=prompt.kind,
            prompt=prompt.title,
            repeat=repeat,
            counts=summary.counts,
            decode_ms=rounds[-1].clock_ms,
            drafted_at=_at_places(rounds, lambda place: True),
            accepted_at=_at_places(rounds, lambda p: p.verdict is Verdict.ACCEPTED),
            proposing=sum(event.lookahead > 0 for event in rounds),
            context=len(lane.prompt_ids) + summary.counts.emitted / 2,
        )

    def _settings(self, turn: Turn, lookahead: int, tokens: int) -> DecodingConfig:
        temperature, _, repeat = turn
        asked = self._plan.settings
        return replace(
            asked,
            lookahead=asked.lookahead if lookahead == AUTO else lookahead,
            auto_lookahead=lookahead == AUTO,
            temperature=temperature,
            seed=asked.seed + repeat,
            max_new_tokens=min(tokens, asked.max_new_tokens),
        )

    def _lane(
        self, prompt: Prompt, settings: DecodingConfig, *, plain: bool
    ) -> LanePlan:
        target = self._pair.target
        request = DecodingRequest(
            self._run_id, prompt.text, settings, use_chat_template=prompt.chat
        )
        return LanePlan(
            run_id=self._run_id,
            lane=Lane.PLAIN if plain else Lane.SPECULATIVE,
            target=target.model,
            tokenizer=target.tokenizer,
            eos_ids=target.eos_ids,
            prompt_ids=encode_prompt(target.tokenizer, request),
            settings=settings,
            new_drafter=None if plain else self._pair.new_drafter,
            costs=self._pair.costs,
        )


def _turns(plan: SweepPlan) -> list[Turn]:
    """Return all turns: the whole map once, then once more for every repeat."""
    prompts = sweep_prompts(plan)
    return [
        (temperature, prompt, repeat)
        for repeat in range(1, plan.repeats + 1)
        for temperature in plan.temperatures
        for prompt in prompts
    ]


def _at_places(
    rounds: list[RoundFinished], wanted: Callable[[Any], bool]
) -> tuple[int, ...]:
    """Return for each place how many rounds had a wanted proposal there."""
    deepest = max((event.lookahead for event in rounds), default=0)
    totals = [0] * deepest
    for event in rounds:
        for place in event.places:
            totals[place.index - 1] += wanted(place)
    return tuple(totals)
