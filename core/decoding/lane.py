"""One lane of one run, as a generator of events with its own clock.

The clock counts the lane's own work only: it stands still while nobody pulls, so
pausing costs it nothing, nor does the other lane of a race.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from core.config import DecodingConfig
from core.decoding.auto_lookahead import AutoLookahead
from core.decoding.detokenizer import Detokenizer, TokenLabels
from core.decoding.device_records import DeviceRecorder, DeviceRounds
from core.decoding.device_round import can_play
from core.decoding.ending import Ending, Limits
from core.decoding.records import Recorded, Recorder, count_round
from core.decoding.speculative import (
    Sequence,
    commit,
    judge,
    propose,
    verify,
)
from core.drafters.protocol import Drafter
from core.errors import ContextLengthError, CoreError
from core.events import (
    Counts,
    Event,
    Lane,
    LaneSummary,
    ModelFacts,
    Noted,
    Origin,
    PrefillFinished,
    PrefillProgress,
    RoundFinished,
    RunFinished,
    RunStarted,
    SettingsChanged,
    StepCosts,
    StopReason,
    TokenOutcome,
)
from core.runtime.clock import Clock
from core.runtime.runner import PREFILL_CHUNK, Model
from core.sampling.draws import KeyedDraws


@dataclass(frozen=True, slots=True)
class LanePlan:
    """What a lane decodes with.

    Attributes:
        run_id: the run.
        lane: which lane.
        target: the target's weights.
        tokenizer: the target's.
        eos_ids: its end tokens.
        prompt_ids: at least one token.
        settings: at the start.
        new_drafter: makes a drafter for a capacity in tokens; None decodes plainly.
        repeat: of a race.
        warm_up: this run is discarded.
        costs: of the pair's steps, which an automatic K is chosen by; without them the
            configured K holds.
        on_device: decide rounds on the target's device; None does so on CUDA.
    """

    run_id: str
    lane: Lane
    target: Model
    tokenizer: Any
    eos_ids: tuple[int, ...]
    prompt_ids: tuple[int, ...]
    settings: DecodingConfig
    new_drafter: Callable[[int], Drafter] | None = None
    repeat: int = 0
    warm_up: bool = False
    costs: StepCosts | None = None
    on_device: bool | None = None

    @property
    def decides_on_device(self) -> bool:
        """Whether its rounds are decided where the target is."""
        if self.on_device is None:
            return self.target.facts.device.startswith("cuda")
        return self.on_device


class LaneRun:
    """A lane that can be pulled event by event.

    Args:
        plan: what to decode with.
        settings: asked at the start of each round; only live settings are taken.
        should_stop: asked between forward passes.

    Attributes:
        clock_ms: the lane's own time so far, prefill included.
        summary: the totals, once it has ended.

    Raises:
        ContextLengthError: if the prompt leaves no room in the target's context.
    """

    def __init__(
        self,
        plan: LanePlan,
        settings: Callable[[], DecodingConfig],
        should_stop: Callable[[], bool],
    ) -> None:
        self._plan, self._wish, self._should_stop = plan, settings, should_stop
        self._settings = self._wished = plan.settings
        self._clock = Clock(plan.target.facts.device)
        self._draws = KeyedDraws(plan.settings.seed)
        self._labels = TokenLabels(plan.tokenizer)
        self._recorder = Recorder(
            self._labels, plan.target.facts.dtype, plain=plan.new_drafter is None
        )
        self._on_device = self._device_rounds() if plan.decides_on_device else None
        self._sequence = self._new_sequence()
        self._counts = Counts()
        self._mixed = self._draft_full = False
        self._prefill_ms = 0.0
        self._first_token_ms: float | None = None
        self.clock_ms = 0.0
        self.summary: LaneSummary | None = None

    def _device_rounds(self) -> DeviceRounds:
        plan, facts = self._plan, self._plan.target.facts
        recorder = DeviceRecorder(
            self._labels, facts.dtype, plain=plan.new_drafter is None
        )
        return DeviceRounds(facts.device, plan.settings.seed, recorder)

    def _new_sequence(self) -> Sequence:
        plan = self._plan
        limits = plan_limits(plan.target.facts, len(plan.prompt_ids), plan.settings)
        capacity = len(plan.prompt_ids) + limits.tokens
        detokenizer = Detokenizer(plan.tokenizer, list(plan.prompt_ids))
        return Sequence(
            ids=list(plan.prompt_ids),
            prompt_length=len(plan.prompt_ids),
            vocabulary=plan.target.facts.vocabulary_size,
            target=plan.target.new_runner(capacity),
            drafter=plan.new_drafter(capacity) if plan.new_drafter else None,
            ending=Ending(detokenizer, plan.eos_ids, limits, plan.settings),
            target_name=plan.target.facts.name,
            auto=AutoLookahead(plan.costs) if plan.costs else None,
        )

    @property
    def lane(self) -> Lane:
        """Which lane it is."""
        return self._plan.lane

    @torch.inference_mode()
    def events(self) -> Generator[Event]:
        """Decode, one event at a time; always ends with RunFinished.

        Raises:
            Exception: whatever broke the run, after its RunFinished was pulled.
        """
        yield self._started()
        failure: Exception | None = None
        try:
            yield from self._prefill()
            while self._sequence.ending.reason is None and not self._should_stop():
                yield from self._before_round()
                yield self._round()
        except Exception as error:
            failure = error
        yield self._finished(failure)
        if failure is not None:
            raise failure

    def _started(self) -> RunStarted:
        plan, drafter = self._plan, self._sequence.drafter
        return RunStarted(
            plan.run_id,
            plan.lane,
            plan.repeat,
            self._settings,
            plan.target.facts,
            drafter.facts if drafter else None,
            prompt_tokens(plan.tokenizer, plan.prompt_ids),
            plan.warm_up,
            plan.costs if drafter else None,
        )

    def _prefill(self) -> Iterator[Event]:
        """Read all prompt tokens but the last into every cache, chunk by chunk."""
        ids = self._sequence.ids[:-1]
        run_id, lane = self._plan.run_id, self._plan.lane
        for start in range(0, len(ids), PREFILL_CHUNK):
            if self._should_stop():
                return
            begin = self._clock.now_ms()
            chunk = ids[start : start + PREFILL_CHUNK]
            read = self._sequence.target.prefill(chunk, self._may_go_on)
            self._spend(self._clock.now_ms() - begin)
            if not read:
                return
            yield PrefillProgress(run_id, lane, start + len(chunk), len(ids))
        begin = self._clock.now_ms()
        if self._sequence.drafter:
            self._sequence.drafter.prefill(ids, self._may_go_on)
        self._spend(self._clock.now_ms() - begin)
        self._prefill_ms = self.clock_ms
        yield PrefillFinished(run_id, lane, self._prefill_ms)

    def _may_go_on(self, read: int) -> bool:
        return not self._should_stop()

    def _spend(self, ms: float) -> None:
        self.clock_ms += ms

    def _before_round(self) -> Iterator[Event]:
        """Take over changed settings; say once when the draft's context is full."""
        run_id, lane = self._plan.run_id, self._plan.lane
        position = self._sequence.prefix.position
        before, wish = self._settings, self._wish()
        after = before if wish is self._wished else before.with_live(wish)
        self._wished = wish
        if after != before:
            self._settings = after
            self._mixed |= position > 0
            yield SettingsChanged(run_id, lane, position, before, after)
        drafter = self._sequence.drafter
        if drafter and not self._draft_full:
            self._draft_full = drafter.room(len(self._sequence.ids)) == 0
            if self._draft_full:
                yield Noted(run_id, lane, position, _draft_full_sentence(drafter))

    def _round(self) -> RoundFinished:
        """Play one round under one set of settings and describe it."""
        now, settings, position = (
            self._clock.now_ms,
            self._settings,
            self._sequence.prefix.position,
        )
        begin, chosen = now(), self._chosen_lookahead()
        if self._on_device is not None and can_play(settings):
            recorded = self._on_device.play(self._sequence, settings)
        else:
            recorded = self._on_host(settings, position)
        event = self._record(recorded, position)
        took_ms = now() - begin
        self._spend(took_ms)
        if self._first_token_ms is None:
            self._first_token_ms = self.clock_ms
        return dataclasses.replace(
            event,
            other_ms=took_ms - sum(recorded.laps_ms),
            clock_ms=self.clock_ms - self._prefill_ms,
            auto_lookahead=chosen,
        )

    def _on_host(self, settings: DecodingConfig, position: int) -> Recorded:
        """Play a round lap by lap."""
        now, sequence = self._clock.now_ms, self._sequence
        laps = [now()]
        proposal = propose(sequence, settings, self._draws)
        laps.append(now())
        logits = verify(sequence, proposal)
        laps.append(now())
        judgement = judge(sequence, proposal, logits, settings, self._draws)
        played = commit(sequence, proposal, judgement, self._draws)
        laps.append(now())
        places = self._recorder.places(played, position, settings)
        tokens = self._recorder.tokens(played, places, settings)
        draft_ms, verify_ms, rule_ms = (b - a for a, b in itertools.pairwise(laps))
        return Recorded(played, places, tokens, (draft_ms, verify_ms, rule_ms))

    def _chosen_lookahead(self) -> int | None:
        """Return the K of the next round where it is chosen, not set."""
        if not self._settings.auto_lookahead or self._sequence.drafter is None:
            return None
        return self._sequence.wanted_lookahead(self._settings)

    def _record(self, recorded: Recorded, position: int) -> RoundFinished:
        played, index = recorded.played, self._counts.rounds
        counts = count_round(played)
        self._counts += counts
        draft_ms, verify_ms, rule_ms = recorded.laps_ms
        return RoundFinished(
            run_id=self._plan.run_id,
            lane=self._plan.lane,
            round_index=index,
            position=position,
            settings=self._settings,
            lookahead=len(played.proposal.ids),
            places=recorded.places,
            tokens=recorded.tokens,
            counts=counts,
            draft_ms=draft_ms,
            verify_ms=verify_ms,
            rule_ms=rule_ms,
            other_ms=0.0,
            clock_ms=0.0,
            held_characters=self._sequence.ending.held_characters,
        )

    def _finished(self, failure: Exception | None) -> RunFinished:
        self.summary = self._summarise(failure)
        sentence = failure.sentence if isinstance(failure, CoreError) else ""
        if failure is not None and not sentence:
            sentence = f"Decoding failed: {failure}"
        plan = self._plan
        return RunFinished(plan.run_id, plan.lane, plan.repeat, self.summary, sentence)

    def _summarise(self, failure: Exception | None) -> LaneSummary:
        ending, emitted = self._sequence.ending, self._counts.emitted
        reason = StopReason.ERROR if failure else ending.reason or StopReason.CANCELLED
        decode_ms = self.clock_ms - self._prefill_ms
        return LaneSummary(
            text=ending.text,
            tokens=tuple(self._sequence.ids[self._sequence.prompt_length :]),
            stop_reason=reason,
            counts=self._counts,
            ms_per_token=decode_ms / emitted if emitted else None,
            tokens_per_second=1e3 * emitted / decode_ms if emitted else None,
            time_to_first_token_ms=self._first_token_ms,
            total_ms=self.clock_ms,
            mixed_settings=self._mixed,
        )


def plan_limits(
    facts: ModelFacts, prompt_length: int, settings: DecodingConfig
) -> Limits:
    """Return how many tokens may be emitted: what was asked, or the context's room.

    Raises:
        ContextLengthError: if there is no room for one token.
    """
    room = facts.context_length - prompt_length
    if room < 1:
        raise ContextLengthError(
            f"The prompt has {prompt_length:,} tokens, but the context of {facts.name} "
            f"holds {facts.context_length:,}; shorten it by {1 - room:,} or more.",
            prompt_length=prompt_length,
            context_length=facts.context_length,
        )
    asked = settings.max_new_tokens
    return Limits(min(asked, room), by_context=room < asked)


def prompt_tokens(tokenizer: Any, ids: tuple[int, ...]) -> tuple[TokenOutcome, ...]:
    """Return the prompt as tokens whose texts join to the decoded prompt."""
    detokenizer = Detokenizer(tokenizer, [])
    return tuple(TokenOutcome(i, detokenizer.push(i), Origin.PROMPT) for i in ids)


def _draft_full_sentence(drafter: Drafter) -> str:
    facts = drafter.facts
    return (
        f"The context of {facts.name} is full at {facts.context_length:,} tokens; "
        "the run goes on without proposals."
    )
