"""The door through which the window and the command line reach the core.

Importing this module does not import torch; the first load does, in whichever thread
pulls it. All methods that work are generators of events: whoever pulls them does the
work in their own thread, and not pulling is pausing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from core.background import with_progress
from core.checkpoints.progress import Work
from core.config import DecodingRequest, PairConfig
from core.control import Control
from core.distillation.plan import DistillEvent, DistillPlan
from core.errors import ConfigurationError
from core.events import Event, Lane, LoadProgress
from core.lab.checks import CheckFinished, ChecksFinished, CheckStarted
from core.lab.doctor_events import DoctorEvent, DoctorPlan
from core.lab.rules import LawsStarted, LawsSummed
from core.lab.sweep_events import SweepEvent, SweepPlan
from core.machine import describe_machine
from core.runtime.device_lock import DEVICE_LOCK

if TYPE_CHECKING:
    from core.loaded_pair import LoadedPair


class Session:
    """A loaded pair and what can be done with it."""

    def __init__(self) -> None:
        self._loaded: LoadedPair | None = None

    @property
    def pair(self) -> PairConfig | None:
        """The loaded pair as it was asked for, or None."""
        return self._loaded and self._loaded.config

    def loaded(self) -> LoadedPair:
        """Return the loaded pair.

        Raises:
            ConfigurationError: if there is none.
        """
        if self._loaded is None:
            raise ConfigurationError("No target is loaded; choose one and load it.")
        return self._loaded

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
        stop = control.should_stop
        if pair != self.pair:
            yield from DEVICE_LOCK.in_turn(
                "a load", stop, lambda: self._load(pair, stop, allow_download)
            )
        if pair == self.pair:
            yield self.loaded().event()

    def _load(
        self, pair: PairConfig, should_stop: Callable[[], bool], allow_download: bool
    ) -> Iterator[LoadProgress]:
        def work(report: Callable[[LoadProgress], None]) -> LoadedPair | None:
            report(LoadProgress("Starting torch"))
            from core.pair_loading import load_pair

            how = Work(report, should_stop)
            return load_pair(pair, self._loaded, how, allow_download=allow_download)

        self._loaded = (yield from with_progress(work)) or self._loaded

    def run(self, request: DecodingRequest, control: Control) -> Iterator[Event]:
        """Decode one prompt speculatively (or plainly where no drafter is loaded).

        Yields RunStarted, PrefillProgress, PrefillFinished, then RoundFinished with
        SettingsChanged and Noted between, and always ends with RunFinished once it
        has begun. Lane is SPECULATIVE with a drafter, else PLAIN.

        Raises:
            CoreError: before RunStarted (bad prompt, no room, nothing loaded), or after
                RunFinished when the run broke.
        """
        pair, stop = self.loaded(), control.should_stop
        from core.decoding.lane import LaneRun

        plan = pair.plan(request, Lane.SPECULATIVE if pair.proposes else Lane.PLAIN)
        pair.require_caches(len(plan.prompt_ids), request.config)
        yield from DEVICE_LOCK.in_turn(
            "a run", stop, lambda: LaneRun(plan, control.settings, stop).events()
        )

    def race(self, request: DecodingRequest, control: Control) -> Iterator[Event]:
        """Race speculative against plain decoding by turns.

        Yields RaceStarted, then for the warm-up (repeat 0) and each repeat both lanes'
        events interleaved and RepeatFinished, then RaceFinished.

        Raises:
            CoreError: as :meth:`run`, or if there is no drafter to race.
        """
        pair = self.loaded()
        pair.require_drafter("A race")
        from core.decoding.race import Race

        plans = {lane: pair.plan(request, lane) for lane in Lane}
        length = len(plans[Lane.PLAIN].prompt_ids)
        caches = pair.require_caches(length, request.config, lanes=len(plans))
        memory = pair.weight_bytes + caches
        machine = describe_machine(pair.target.device)
        race = Race(plans, request.repeats, control, machine, memory)
        yield from DEVICE_LOCK.in_turn("a race", control.should_stop, race.events)

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
        pair, stop = self.loaded(), control.should_stop
        pair.require_drafter("Verifying")
        from core.lab.exactness import longest_run, verify
        from core.lab.mutants import mutant_called

        if mutant is not None:
            drafted = pair.draft is not None
            mutant_called(mutant).require_applies(request.config, drafted=drafted)
        plan, draft = pair.plan(request, Lane.SPECULATIVE), pair.draft_by_token_id()
        pair.require_caches(len(plan.prompt_ids), longest_run(request.config))
        yield from DEVICE_LOCK.in_turn(
            "a verification",
            stop,
            lambda: verify(plan, draft, mutant=mutant, should_stop=stop),
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
        pair, stop = self.loaded(), control.should_stop
        pair.require_drafter("Comparing rules")
        from core.lab.rule_laws import laws

        plan, draft = pair.plan(request, Lane.SPECULATIVE), pair.draft_by_token_id()
        pair.require_caches(len(plan.prompt_ids), request.config)
        yield from DEVICE_LOCK.in_turn(
            "a comparison of rules", stop, lambda: laws(plan, draft, stop)
        )

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
        pair, stop = self.loaded(), control.should_stop
        pair.require_drafter("A sweep")
        from core.lab.sweep_setup import new_sweep

        sweep = new_sweep(plan, pair, run_id=run_id, out=out, should_stop=stop)
        yield from DEVICE_LOCK.in_turn("a sweep", stop, sweep.events)

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
        lent._loaded = self._loaded
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

        def work() -> Iterator[DistillEvent | LoadProgress]:
            from core.distillation.distill import distill

            return distill(plan, control)

        yield from DEVICE_LOCK.in_turn("a distillation", control.should_stop, work)

    def prompt_tokens(self, request: DecodingRequest) -> tuple[tuple[int, str], ...]:
        """Return the (id, label) pairs that ``request`` would be decoded from."""
        return self.loaded().prompt_tokens(request)

    def close(self) -> None:
        """Let go of the models and their memory."""
        self._loaded = None
