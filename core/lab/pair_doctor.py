"""Every checkpoint on this machine as a draft for one target, the best first.

First by files alone: whether it fits, why not, and how many numbers a step of it reads.
Then, if asked, each that fits is loaded and decodes a few prompts; its step costs and
its acceptance say which K should be fastest and what it should bring.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import replace

from core.checkpoints.candidates import Candidate, judge_candidates
from core.checkpoints.devices import place
from core.checkpoints.facts import CheckpointFacts
from core.checkpoints.inspection import inspect_checkpoint
from core.checkpoints.known import known_checkpoints
from core.config import (
    DecodingConfig,
    DecodingRequest,
    DrafterKind,
    ModelConfig,
    PairConfig,
)
from core.control import Control
from core.errors import CoreError
from core.events import LoadProgress, PairLoaded, RoundFinished
from core.lab.cost_model import best, by_place, cost_ratio, curve
from core.lab.doctor_events import (
    FITS,
    NOT,
    DoctorEvent,
    DoctorFinished,
    DoctorPlan,
    DoctorStarted,
    DraftProbed,
    DraftReport,
    Reports,
    advice_on,
    ranked,
)
from core.lab.sweep_events import GRID_KINDS
from core.metrics import RunStatistics
from core.prompts import Prompt, library
from core.session import Session

LOOKAHEAD = 6  # of a probe: how deep places are accepted shows in one run
LOOKUP = DraftReport(DrafterKind.LOOKUP, "Prompt lookup", FITS, cost_ratio=0.0)


class PairDoctor:
    """Looks for a target's draft.

    Args:
        plan: what to look at.
        control: stops it, between rounds.
        session: loads the drafts; a pair of the same target saves loading it.
    """

    def __init__(self, plan: DoctorPlan, control: Control, session: Session) -> None:
        self._plan, self._control, self._session = plan, control, session
        self._drafts: dict[str, DraftReport] = {}

    def events(self) -> Iterator[DoctorEvent]:
        """Yield DoctorStarted, a DraftProbed for each probe, DoctorFinished.

        Raises:
            CoreError: if the target cannot be read or loaded, or if its device or the
                settings of the probes are not possible.
        """
        self.settings()
        if self._plan.probe:
            place(self._plan.target)  # no draft is to be blamed for a missing device
        yield LoadProgress("Looking at the checkpoints")
        target = inspect_checkpoint(self._plan.target.reference)
        found = _judged(target, self._plan.places)
        self._drafts = {draft.reference: draft for draft in found}
        yield DoctorStarted(target.name, self._ranked(), self._plan.probe)
        if self._plan.probe:
            yield from self._probe_all()
        stopped, drafts = self._control.should_stop(), self._ranked()
        yield DoctorFinished(target.name, drafts, advice_on(drafts), stopped)

    def _ranked(self) -> Reports:
        return ranked(tuple(self._drafts.values()))

    def _probe_all(self) -> Iterator[DoctorEvent]:
        """Probe each draft that fits, the cheapest first."""
        fitting = [draft for draft in self._ranked() if draft.fits]
        if fitting and not (yield from self._has_target()):
            return
        for done, draft in enumerate(fitting):
            share = done / len(fitting)
            yield LoadProgress(f"Loading {draft.name}", share)
            try:
                probed = yield from self._probe(draft, share)
            except CoreError as error:
                probed = replace(draft, fit=NOT, reasons=(error.sentence,))
            if probed is None:
                return
            self._drafts[draft.reference] = probed
            yield DraftProbed(probed, self._ranked())

    def _has_target(self) -> Generator[LoadProgress, None, bool]:
        """Load the target alone if it is not here yet; what fails is not a draft.

        The generator's value is False when stopped.
        """
        held = self._session.pair
        if held is not None and held.target == self._plan.target:
            return True
        return (yield from self._load(PairConfig(self._plan.target))) is not None

    def _probe(
        self, draft: DraftReport, share: float
    ) -> Generator[LoadProgress, None, DraftReport | None]:
        """Load a draft and decode; the generator's value is None when stopped."""
        loaded = yield from self._load(self._pair(draft.reference))
        if loaded is None or loaded.costs is None:
            return None
        statistics = RunStatistics()
        for prompt in probe_prompts(self._plan.prompts):
            yield LoadProgress(f"Probing {draft.name}", share, prompt.kind)
            for event in self._session.run(self._request(prompt), self._control):
                if isinstance(event, RoundFinished):  # all prompts count together
                    statistics.on_event(event)
            if self._control.should_stop():
                return None
        return _reported(draft, loaded, statistics, greedy=self._plan.temperature == 0)

    def _load(
        self, pair: PairConfig
    ) -> Generator[LoadProgress, None, PairLoaded | None]:
        loaded = None
        for event in self._session.load(pair, self._control):
            match event:
                case PairLoaded():
                    loaded = event
                case LoadProgress():
                    yield event
                case _:
                    pass
        return loaded

    def _pair(self, reference: str) -> PairConfig:
        target = self._plan.target
        if reference == DrafterKind.LOOKUP:
            return PairConfig(target, DrafterKind.LOOKUP)
        draft = ModelConfig(reference, target.device, target.dtype)
        return PairConfig(target, DrafterKind.CHECKPOINT, draft)

    def _request(self, prompt: Prompt) -> DecodingRequest:
        settings = self.settings()
        return DecodingRequest(
            "doctor", prompt.text, settings, use_chat_template=prompt.chat
        )

    def settings(self) -> DecodingConfig:
        """Return what probes are decoded under."""
        plan = self._plan
        return DecodingConfig(
            lookahead=LOOKAHEAD,
            temperature=plan.temperature,
            max_new_tokens=plan.tokens,
        )


def probe_prompts(number: int) -> tuple[Prompt, ...]:
    """Return the first prompt of each kind, then the second ones, and so on.

    The kinds that sweeps take come first: they differ the most in acceptance.
    """
    by_kind: dict[str, list[Prompt]] = {kind: [] for kind in GRID_KINDS}
    for prompt in library():
        by_kind.setdefault(prompt.kind, []).append(prompt)
    rows = max(map(len, by_kind.values()))
    order = [
        group[i] for i in range(rows) for group in by_kind.values() if i < len(group)
    ]
    return tuple(order[:number])


def _judged(target: CheckpointFacts, places: tuple[str, ...]) -> Reports:
    if target.problem:
        return ()
    candidates = judge_candidates(target, known_checkpoints(places))
    found = tuple(_by_files(target, candidate) for candidate in candidates)
    return found if target.plain_only else (LOOKUP, *found)


def _by_files(target: CheckpointFacts, candidate: Candidate) -> DraftReport:
    facts, verdict = candidate.facts, candidate.verdict
    own, theirs = step_numbers(target), step_numbers(facts)
    return DraftReport(
        reference=facts.reference,
        name=facts.name,
        fit=str(verdict.fit),
        reasons=verdict.reasons,
        notes=verdict.notes,
        cost_ratio=theirs / own if own and theirs else None,
    )


def step_numbers(facts: CheckpointFacts) -> int:
    """Return about how many weights a step reads.

    All of them, as a rule: the embedding is the head as well. A draft whose head is cut
    reads the rows of the head that are left, and of the embedding one.
    """
    if not facts.draft_head_size:
        return facts.num_parameters
    rows = facts.vocabulary_size - facts.draft_head_size
    return facts.num_parameters - rows * facts.hidden_size


def _reported(
    draft: DraftReport, loaded: PairLoaded, found: RunStatistics, *, greedy: bool
) -> DraftReport:
    """Return what a probe has shown of a draft."""
    assert loaded.costs is not None
    report = replace(
        draft,
        probed=True,
        cost_ratio=cost_ratio(loaded.costs) or 0.0,
        acceptance_rate=found.acceptance_rate,
        tested=found.since_change.tested,
    )
    acceptance = by_place(
        found.acceptance_by_place(), found.acceptance_rate, found.proposed or 0.0
    )
    if acceptance is None:  # nothing was proposed, so nothing can be won
        return replace(report, best_lookahead=0, predicted_speedup=1.0)
    wins = best(curve(loaded.costs, acceptance, greedy=greedy))
    return replace(
        report, best_lookahead=wins.lookahead, predicted_speedup=wins.speedup
    )
