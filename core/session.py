"""The one door through which the window and the command line reach the core.

Importing this module does not import torch; the first load does, in whichever thread
pulls it. All methods that work are generators of events: whoever pulls them does the
work in their own thread, and not pulling is pausing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from core.background import with_progress
from core.checkpoints.plain_only import (
    draft_refusal,
    plain_only_note,
    proposals_refusal,
    target_refusal,
)
from core.config import (
    DecodingConfig,
    DecodingRequest,
    DrafterKind,
    ModelConfig,
    PairConfig,
)
from core.control import Control
from core.distillation.plan import DistillEvent, DistillPlan
from core.errors import ConfigurationError
from core.events import (
    Event,
    Lane,
    LoadProgress,
    ModelFacts,
    PairLoaded,
    StepCosts,
)
from core.lab.checks import CheckFinished, ChecksFinished, CheckStarted
from core.lab.doctor_events import DoctorEvent, DoctorPlan
from core.lab.rules import LawsStarted, LawsSummed
from core.lab.sweep_events import SweepEvent, SweepPlan
from core.machine import describe_machine
from core.runtime.device_lock import DEVICE_LOCK
from core.runtime.heap import libraries_spared

if TYPE_CHECKING:
    from core.checkpoints.facts import CheckpointFacts
    from core.checkpoints.loading import LoadedModel
    from core.decoding.lane import LanePlan
    from core.drafters.protocol import Drafter
    from core.lab.bench import BenchResult
    from core.runtime.runner import Model

    Loaded = tuple[LoadedModel, LoadedModel | None, StepCosts | None, tuple[str, ...]]

Report = Callable[[LoadProgress], None]

NOT_BIT_IDENTICAL = (
    "Not bit-identical: this model's rows depend on how many are computed together, so "
    "near ties may fall differently in the two lanes."
)


class Session:
    """A loaded pair and what can be done with it."""

    def __init__(self) -> None:
        self._pair: PairConfig | None = None
        self._target: LoadedModel | None = None
        self._draft: LoadedModel | None = None
        self._pair_notes: tuple[str, ...] = ()
        self._costs: StepCosts | None = None
        self._libraries_bytes: int | None = None

    @property
    def pair(self) -> PairConfig | None:
        """The loaded pair, or None."""
        return self._pair

    def load(
        self, pair: PairConfig, control: Control, *, allow_download: bool = False
    ) -> Iterator[Event]:
        """Load ``pair``, keeping the previous one usable until it is ready.

        Yields LoadProgress, then PairLoaded. Ends without PairLoaded when cancelled.

        Args:
            pair: what to load.
            control: stops it.
            allow_download: fetch what is not on this machine; without it the network
                is never touched.

        Raises:
            CoreError: with the sentence for the person; the previous pair stays.
        """
        if pair == self._pair:
            yield self._loaded()
            return
        yield from self._wait()
        with DEVICE_LOCK.acquire("a load", control.should_stop) as held:
            if not held:
                return
            loaded = yield from with_progress(
                lambda report: self._load(
                    pair, report, control.should_stop, allow_download
                )
            )
        if loaded is not None:
            self._target, self._draft, self._costs, self._pair_notes = loaded
            self._pair = pair
            yield self._loaded()

    def _load(
        self,
        pair: PairConfig,
        report: Report,
        should_stop: Callable[[], bool],
        allow_download: bool,
    ) -> Loaded | None:
        """Judge the pair, load what is not loaded yet, time its steps.

        Returns:
            Target, draft, step costs and notes on the pair; None when cancelled.
        """
        report(LoadProgress("Starting torch"))
        from core.checkpoints.devices import place
        from core.checkpoints.loading import fetch
        from core.checkpoints.progress import Cancelled, Work
        from core.lab.memory_use import libraries_bytes

        wanted = [pair.target] if pair.draft is None else [pair.target, pair.draft]
        for model in wanted:
            place(model)  # nothing is fetched for a device that is not there
        try:
            if allow_download:
                for model in wanted:
                    fetch(model.reference, Work(report, should_stop))
            notes = self._require_fit(pair)
            if self._libraries_bytes is None:  # for a bench: what is not the pair
                report(LoadProgress("Preparing the kernels"))
                self._libraries_bytes = libraries_bytes(place(pair.target).device)
            # A target that drafts for itself is one model, not two.
            models = {
                m: self._model(m, report, should_stop, drafts=m != pair.target)
                for m in dict.fromkeys(wanted)
            }
        except Cancelled:
            return None
        target, draft = models[pair.target], models[pair.draft] if pair.draft else None
        if pair.drafter is DrafterKind.NONE:
            return target, draft, None, notes
        _require_rewindable(target.facts, draft and draft.facts)
        report(LoadProgress("Timing the steps"))
        from core.lab.pair_costs import measure_costs

        costs = measure_costs(target, draft, _drafter_maker(target, draft), should_stop)
        return None if costs is None else (target, draft, costs, notes)

    def _require_fit(self, pair: PairConfig) -> tuple[str, ...]:
        """Refuse what cannot be drafted for before a single weight is read.

        Returns:
            Sentences worth knowing about the pair.
        """
        from core.checkpoints.inspection import inspect_checkpoint
        from core.checkpoints.pairing import judge_pair, require_fit

        if pair.drafter is DrafterKind.NONE:
            return ()
        target = inspect_checkpoint(pair.target.reference)
        _require_rewindable(target)
        if pair.draft is None:
            return ()
        draft = inspect_checkpoint(pair.draft.reference)
        _require_rewindable(target, draft)
        verdict = judge_pair(target, draft)
        require_fit(verdict)
        return verdict.notes

    def _model(
        self,
        config: ModelConfig,
        report: Report,
        should_stop: Callable[[], bool],
        *,
        drafts: bool,
    ) -> LoadedModel:
        """Return the model if it is loaded already, else load it."""
        from core.checkpoints.loading import load_model

        for held, loaded in self._held():
            if config == held and loaded.serves(drafts=drafts):
                return loaded
        return load_model(config, report, should_stop, drafts=drafts)

    def _held(self) -> Iterator[tuple[ModelConfig | None, LoadedModel]]:
        if self._pair and self._target:
            yield self._pair.target, self._target
        if self._pair and self._draft:
            yield self._pair.draft, self._draft

    def _loaded(self) -> PairLoaded:
        target, draft = self._require_target().model.facts, self._drafter_facts()
        return PairLoaded(target, draft, tuple(self._notes(target, draft)), self._costs)

    def _notes(self, target: ModelFacts, draft: ModelFacts | None) -> Iterator[str]:
        if self._require_target().facts.plain_only:
            yield plain_only_note(self._require_target().facts)
            return
        if self._draft:
            yield from self._pair_notes
        if not all(facts.row_invariant for facts in (target, draft) if facts):
            yield NOT_BIT_IDENTICAL
        loaded = filter(None, (self._target, self._draft))
        yield from _how_steps_run(*(each.model for each in loaded))

    def _require_target(self) -> LoadedModel:
        if self._target is None:
            raise ConfigurationError("No target is loaded; choose one and load it.")
        return self._target

    def _drafter_facts(self) -> ModelFacts | None:
        new_drafter = self._new_drafter()
        return None if new_drafter is None else new_drafter(1).facts

    def _new_drafter(self) -> Callable[[int], Drafter] | None:
        """Return what makes a drafter for a capacity in tokens, or None."""
        assert self._pair is not None
        if self._pair.drafter is not DrafterKind.LOOKUP and self._draft is None:
            return None
        make = _drafter_maker(self._require_target(), self._draft)
        model = self._draft and self._draft.model
        return lambda capacity: make(capacity, model)

    def run(self, request: DecodingRequest, control: Control) -> Iterator[Event]:
        """Decode one prompt speculatively (or plainly where no drafter is loaded).

        Yields RunStarted, PrefillProgress, PrefillFinished, then RoundFinished with
        SettingsChanged and Noted between, and always ends with RunFinished once it
        has begun. Lane is SPECULATIVE with a drafter, else PLAIN.

        Raises:
            CoreError: before RunStarted (bad prompt, no room, nothing loaded), or after
                RunFinished when the run broke.
        """
        self._require_target()
        from core.decoding.lane import LaneRun

        lane = Lane.PLAIN if self._new_drafter() is None else Lane.SPECULATIVE
        plan = self._plan(request, lane)
        self._require_caches(len(plan.prompt_ids), request, racing=False)
        yield from self._wait()
        with DEVICE_LOCK.acquire("a run", control.should_stop) as held:
            if held:
                run = LaneRun(plan, control.settings, control.should_stop)
                yield from run.events()

    def race(self, request: DecodingRequest, control: Control) -> Iterator[Event]:
        """Race speculative against plain decoding by turns.

        Yields RaceStarted, then for the warm-up (repeat 0) and each repeat both lanes'
        events interleaved and RepeatFinished, then RaceFinished.

        Raises:
            CoreError: as :meth:`run`, or if there is no drafter to race.
        """
        self._require_drafter("A race")
        target = self._require_target()
        from core.decoding.race import Race

        plans = {lane: self._plan(request, lane) for lane in Lane}
        length = len(plans[Lane.PLAIN].prompt_ids)
        caches = self._require_caches(length, request, racing=True)
        memory = self._weight_bytes() + caches
        machine = describe_machine(target.device)
        yield from self._wait()
        with DEVICE_LOCK.acquire("a race", control.should_stop) as held:
            if held:
                race = Race(plans, request.repeats, control, machine, memory)
                yield from race.events()

    def verify(
        self, request: DecodingRequest, control: Control, *, mutant: str | None = None
    ) -> Iterator[CheckStarted | CheckFinished | ChecksFinished | LoadProgress]:
        """Check that the loaded pair is lossless on this prompt.

        Args:
            request: prompt and settings to check.
            control: stops it.
            mutant: a wrong variant (core.lab.mutants) that the checks must fail on.

        Raises:
            CoreError: if nothing is loaded, the mutant is not known or could not show,
                or the caches do not fit.
        """
        self._require_drafter("Verifying")
        from core.lab.exactness import longest_run, verify
        from core.lab.mutants import MUTANTS

        if mutant is not None and mutant not in MUTANTS:
            known = ", ".join(MUTANTS)
            raise ConfigurationError(f"No mutant is called {mutant!r}; choose {known}.")
        if mutant is not None:
            drafted = self._draft is not None
            MUTANTS[mutant].require_applies(request.config, drafted=drafted)
        plan = self._plan(request, Lane.SPECULATIVE)
        draft = _by_token_id(self._draft) if self._draft else None
        longest = replace(request, config=longest_run(request.config))
        self._require_caches(len(plan.prompt_ids), longest, racing=False)
        yield from self._wait()
        with DEVICE_LOCK.acquire("a verification", control.should_stop) as held:
            if held:
                yield from verify(
                    plan, draft, mutant=mutant, should_stop=control.should_stop
                )

    def sum_laws(
        self, request: DecodingRequest, control: Control
    ) -> Iterator[LawsStarted | LawsSummed | LoadProgress]:
        """Sum the law of the texts under each rule, on the loaded pair and a prompt.

        Args:
            request: prompt and settings.
            control: stops it between its 64 readings of each model, without a word.

        Raises:
            CoreError: if nothing is loaded, or the caches do not fit.
        """
        self._require_drafter("Comparing rules")
        from core.checkpoints.progress import Cancelled
        from core.lab.rule_laws import sum_laws

        plan = self._plan(request, Lane.SPECULATIVE)
        draft = _by_token_id(self._draft) if self._draft else None
        self._require_caches(len(plan.prompt_ids), request, racing=False)
        yield from self._wait()
        with DEVICE_LOCK.acquire("a comparison of rules", control.should_stop) as held:
            if held:
                yield LawsStarted()
                try:
                    summed = sum_laws(plan, draft, control.should_stop)
                except Cancelled:
                    return
                yield summed

    def bench(
        self,
        settings: DecodingConfig,
        control: Control,
        *,
        kind: str | None = None,
        repeats: int = 5,
    ) -> Iterator[LoadProgress | BenchResult]:
        """Measure steps, rounds and rates of the loaded pair beside transformers'.

        Args:
            settings: of all decodings.
            control: stops it.
            kind: prompts of this kind only.
            repeats: counted repeats.

        Raises:
            CoreError: if no pair is loaded, or there are no prompts of that kind.
        """
        self._require_drafter("A bench")
        from core.lab.bench_setup import new_bench

        assert self._pair is not None
        yield from self._wait()
        with DEVICE_LOCK.acquire("a bench", control.should_stop) as held:
            if held:
                yield LoadProgress("Measuring memory")
                bench = new_bench(
                    self._pair,
                    self._require_target(),
                    self._draft,
                    _drafter_maker(self._require_target(), self._draft),
                    settings,
                    kind=kind,
                    repeats=repeats,
                    should_stop=control.should_stop,
                    libraries_bytes=self._libraries_bytes or 0,
                )
                with libraries_spared():
                    yield from bench.events()

    def bench_random(
        self,
        shapes: tuple[str, str],
        model: ModelConfig,
        settings: DecodingConfig,
        control: Control,
        *,
        repeats: int = 5,
    ) -> Iterator[LoadProgress | BenchResult]:
        """Measure a pair of real shapes with random weights; see :meth:`bench`.

        Args:
            shapes: of target and draft, as ``core.lab.random_models`` names them.
            model: device and dtype of both.
            settings: of all decodings.
            control: stops it.
            repeats: counted repeats.

        Raises:
            CoreError: for a shape, device or dtype that is not there, or no room.
        """
        yield from self._wait()
        with DEVICE_LOCK.acquire("a bench", control.should_stop) as held:
            if held:
                yield LoadProgress("Making random weights")
                from core.lab.bench_setup import random_bench

                bench = random_bench(
                    *shapes,
                    model,
                    settings,
                    repeats=repeats,
                    should_stop=control.should_stop,
                )
                for note in _how_steps_run(bench.target, bench.draft):
                    yield LoadProgress(note)
                with libraries_spared():
                    yield from bench.events()

    def sweep(
        self,
        plan: SweepPlan,
        control: Control,
        *,
        run_id: str = "sweep",
        out: Path | None = None,
    ) -> Iterator[SweepEvent]:
        """Measure the pair at every K and temperature of ``plan``, beside plain.

        Yields SweepStarted, then SweepProgress before every decoding and CellFinished
        after every turn, then SweepFinished, also when it was cancelled. What is
        measured is kept in a file, so that the same sweep goes on where it ended.

        Args:
            plan: the grid.
            control: stops it, between rounds.
            run_id: names it in its events.
            out: file for the results; None for one in the user's data folder, named by
                pair, settings and machine.

        Raises:
            CoreError: if no pair is loaded, there are no prompts of a kind, or the file
                cannot be read or written.
        """
        self._require_drafter("A sweep")
        from core.lab.sweep_setup import longest_request, new_sweep

        target, new_drafter = self._require_target(), self._new_drafter()
        assert new_drafter is not None
        assert self._costs is not None
        self._require_caches(*longest_request(target, plan), racing=False)
        sweep = new_sweep(
            plan,
            target,
            self._draft,
            new_drafter,
            self._costs,
            run_id=run_id,
            out=out,
            should_stop=control.should_stop,
        )
        yield from self._wait()
        with DEVICE_LOCK.acquire("a sweep", control.should_stop) as held:
            if held:
                yield from sweep.events()

    def doctor(self, plan: DoctorPlan, control: Control) -> Iterator[DoctorEvent]:
        """Look at every checkpoint here as a draft for one target.

        Yields DoctorStarted, DraftProbed for each draft that was to be tried, then
        DoctorFinished, also when it was cancelled. The loaded pair stays as it is; a
        target that it has is not loaded again.

        Args:
            plan: what to look at.
            control: stops it, between rounds.

        Raises:
            CoreError: if the target cannot be read.
        """
        from core.lab.pair_doctor import PairDoctor

        lent = Session()
        lent._pair, lent._target, lent._draft = self._pair, self._target, self._draft
        lent._costs, lent._pair_notes = self._costs, self._pair_notes
        yield from PairDoctor(plan, control, lent).events()

    def distill(
        self, plan: DistillPlan, control: Control
    ) -> Iterator[DistillEvent | LoadProgress]:
        """Make a draft for a target; the loaded pair stays as it is.

        Yields progress, then DistillFinished, also when it was cancelled; nothing when
        it was cancelled while it waited.

        Args:
            plan: what to make.
            control: stops it; the best draft so far is kept.

        Raises:
            CoreError: if target, prompts or folder cannot be used; nothing is
                overwritten.
        """
        yield from self._wait()
        with DEVICE_LOCK.acquire("a distillation", control.should_stop) as held:
            if held:
                from core.distillation.distill import distill

                yield from distill(plan, control)

    def _require_drafter(self, what: str) -> None:
        target = self._require_target().facts
        if target.plain_only:
            raise proposals_refusal(target, what)
        if self._new_drafter() is None:
            raise ConfigurationError(
                f"{what} needs a drafter, and none is chosen; pick prompt lookup or a "
                "draft checkpoint."
            )

    def _plan(self, request: DecodingRequest, lane: Lane) -> LanePlan:
        from core.decoding.lane import LanePlan, plan_limits
        from core.decoding.prompting import encode_prompt

        target = self._require_target()
        ids = encode_prompt(target.tokenizer, request)
        plan_limits(target.model.facts, len(ids), request.config)
        return LanePlan(
            run_id=request.run_id,
            lane=lane,
            target=target.model,
            tokenizer=target.tokenizer,
            eos_ids=target.eos_ids,
            prompt_ids=ids,
            settings=request.config,
            new_drafter=self._new_drafter() if lane is Lane.SPECULATIVE else None,
            costs=self._costs,
        )

    def _require_caches(
        self, prompt_length: int, request: DecodingRequest, *, racing: bool
    ) -> int:
        """Return the bytes of all caches, once it is sure that they fit."""
        from core.checkpoints.memory import require_cache_room

        target = self._require_target()
        facts = target.model.facts
        tokens = prompt_length + request.config.max_new_tokens
        tokens = min(tokens, facts.context_length)
        needed = (2 if racing else 1) * target.model.cache_bytes(tokens)
        if self._draft is not None:
            draft = self._draft.model
            needed += draft.cache_bytes(min(tokens, draft.facts.context_length))
        spare = sum(
            getattr(loaded.model, "spare_bytes", 0)
            for loaded in (target, self._draft)
            if loaded
        )
        require_cache_room(facts.name, target.device, needed - spare, tokens)
        return needed

    def _weight_bytes(self) -> int:
        target, draft = self._require_target(), self._draft
        total = target.model.facts.memory_bytes
        if draft is None or draft is target:
            return total
        return total + draft.model.facts.memory_bytes

    def prompt_tokens(self, request: DecodingRequest) -> tuple[tuple[int, str], ...]:
        """Return the (id, label) pairs that ``request`` would be decoded from."""
        from core.decoding.detokenizer import TokenLabels
        from core.decoding.prompting import encode_prompt

        tokenizer = self._require_target().tokenizer
        label = TokenLabels(tokenizer)
        return tuple((i, label(i)) for i in encode_prompt(tokenizer, request))

    def close(self) -> None:
        """Let go of the models and their memory."""
        self._pair = self._target = self._draft = self._costs = None

    def _wait(self) -> Iterator[LoadProgress]:
        """Say what holds the device, if anything does."""
        holder = DEVICE_LOCK.holder()
        if holder:
            yield LoadProgress(f"Waiting for {holder} to end")


def _require_rewindable(
    target: CheckpointFacts, draft: CheckpointFacts | None = None
) -> None:
    """Refuse to draft where a proposal could not be taken back."""
    if target.plain_only:
        raise target_refusal(target)
    if draft is not None and draft.plain_only:
        raise draft_refusal(draft)


def _how_steps_run(*models: Model | None) -> Iterator[str]:
    """Yield what the models say of it; as a rule both of a pair say the same."""
    return filter(None, dict.fromkeys(getattr(model, "note", "") for model in models))


def _by_token_id(draft: LoadedModel) -> Model:
    """Return the draft's model with logit i that of id i, also where it is sliced."""
    from core.runtime.sliced_head import WholeRows

    ids = draft.head_ids
    return draft.model if ids is None else WholeRows(draft.model, ids)


def _drafter_maker(
    target: LoadedModel, draft: LoadedModel | None
) -> Callable[[int, Model | None], Drafter]:
    """Return what makes a drafter for a capacity from the draft's model."""
    facts = target.model.facts
    if draft is None:
        from core.drafters.prompt_lookup import PromptLookup

        return lambda capacity, model: PromptLookup(
            facts.vocabulary_size, facts.context_length
        )
    from core.drafters.draft_model import DraftModel

    return lambda capacity, model: DraftModel(
        _present(model), capacity, facts.vocabulary_size, draft.head_ids
    )


def _present(model: Model | None) -> Model:
    assert model is not None
    return model
