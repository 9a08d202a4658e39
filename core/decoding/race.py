"""Plain against speculative on one device, by turns, each on its own clock."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from statistics import median

from core import metrics
from core.config import MAX_LOOKAHEAD, Coupling, DecodingConfig
from core.control import Control
from core.decoding.divergence import divergence
from core.decoding.lane import LanePlan, LaneRun
from core.events import (
    Counts,
    Divergence,
    DivergenceKind,
    Event,
    JudgedSpeed,
    Lane,
    LaneSummary,
    Machine,
    RaceFinished,
    RaceStarted,
    RepeatFinished,
    RoundFinished,
    RunFinished,
    Speedup,
    StopReason,
    TokenOutcome,
)

WARM_UP_TOKENS = 16
SHORTEST = 32  # tokens in a lane below which nothing is judged
MIN_REPEATS = 3
HELPS, HURTS = 1.02, 0.98


@dataclasses.dataclass(slots=True)
class LaneRecord:
    """What the race keeps of one lane of one repeat."""

    summary: LaneSummary | None = None
    tokens: list[TokenOutcome] = dataclasses.field(default_factory=list)
    draft_ms: float = 0.0
    rest_ms: float = 0.0

    def on_event(self, event: Event) -> None:
        """Take in one event of the lane."""
        match event:
            case RoundFinished():
                self.tokens.extend(event.tokens)
                self.draft_ms += event.draft_ms
                self.rest_ms += event.round_ms - event.draft_ms
            case RunFinished():
                self.summary = event.summary
            case _:
                pass


Repeat = dict[Lane, LaneRecord]


class Race:
    """A discarded warm-up, then measured repeats of both lanes.

    Args:
        plans: one plan a lane; seed and repeat are set here.
        repeats: how many are measured.
        control: stop, and the live K.
        machine: for the result.
        memory_bytes: weights and caches of both lanes.
    """

    def __init__(
        self,
        plans: dict[Lane, LanePlan],
        repeats: int,
        control: Control,
        machine: Machine,
        memory_bytes: int,
    ) -> None:
        self._plans, self._repeats, self._control = plans, repeats, control
        self._machine, self._memory_bytes = machine, memory_bytes
        self._settings = plans[Lane.SPECULATIVE].settings
        self._run_id = plans[Lane.SPECULATIVE].run_id
        self._records: list[Repeat] = []

    def events(self) -> Iterator[Event]:
        """Yield both lanes' events by turns, and RaceFinished at the end."""
        yield RaceStarted(self._run_id, self._repeats)
        yield from self._play(0)
        for repeat in range(1, self._repeats + 1):
            if self._control.should_stop():
                break
            record = yield from self._play(repeat)
            if all(_whole(lane.summary) for lane in record.values()):
                self._records.append(record)
                yield self._repeat_finished(repeat, record)
        yield self._result()

    def _play(self, repeat: int) -> Iterator[Event]:
        """Play one repeat; the generator's value is what it kept."""
        lanes = [self._lane(lane, repeat) for lane in _starting_order(repeat)]
        record: Repeat = {lane.lane: LaneRecord() for lane in lanes}
        streams = {lane.lane: lane.events() for lane in lanes}
        try:
            while streams:
                # The lane whose own clock is behind goes next; a tie goes to the first.
                behind = min(
                    (lane for lane in lanes if lane.lane in streams),
                    key=lambda lane: lane.clock_ms,
                )
                event = next(streams[behind.lane], None)
                if event is None:
                    del streams[behind.lane]
                else:
                    record[behind.lane].on_event(event)
                    yield event
        finally:
            for stream in streams.values():
                stream.close()
        return record

    def _lane(self, lane: Lane, repeat: int) -> LaneRun:
        plan, settings = self._plans[lane], self._plans[lane].settings
        tokens = WARM_UP_TOKENS if repeat == 0 else settings.max_new_tokens
        settings = dataclasses.replace(
            settings,
            seed=settings.seed + repeat,
            max_new_tokens=min(tokens, settings.max_new_tokens),
        )
        plan = dataclasses.replace(
            plan, settings=settings, repeat=repeat, warm_up=repeat == 0
        )
        return LaneRun(plan, self._only_k(plan), self._control.should_stop)

    def _only_k(self, plan: LanePlan) -> Callable[[], DecodingConfig]:
        """In a race K alone is live, set or automatic; the plain lane has none."""
        if plan.lane is Lane.PLAIN:
            return lambda: plan.settings

        held = plan.settings

        def settings() -> DecodingConfig:
            nonlocal held
            live = self._control.settings()
            wish = (live.lookahead, live.auto_lookahead)
            if wish != (held.lookahead, held.auto_lookahead):
                held = dataclasses.replace(
                    held, lookahead=wish[0], auto_lookahead=wish[1]
                )
            return held

        return settings

    def _repeat_finished(self, repeat: int, record: Repeat) -> RepeatFinished:
        plain, speculative = _summaries(record)
        return RepeatFinished(
            self._run_id,
            repeat,
            metrics.ratio(plain.ms_per_token or 0, speculative.ms_per_token or 0),
            metrics.ratio(plain.total_ms, speculative.total_ms),
            counted=not speculative.mixed_settings,
        )

    def _result(self) -> RaceFinished:
        counted = [r for r in self._records if not _summaries(r)[1].mixed_settings]
        speedup = _speedup(counted)
        identical, parted = self._compare()
        plain = _lane_summary([_summaries(r)[0] for r in counted or self._records])
        fast = _lane_summary([_summaries(r)[1] for r in counted or self._records])
        rounds = sum((_summaries(r)[1].counts for r in counted), Counts())
        return RaceFinished(
            run_id=self._run_id,
            plain=plain,
            speculative=fast,
            speedup=speedup,
            identical=identical,
            divergence=parted,
            verdict=_verdict(speedup, plain, fast),
            break_even_acceptance=_break_even(counted, self._most()),
            acceptance_rate=metrics.acceptance_rate(rounds),
            settings=self._settings,
            machine=self._machine,
            memory_bytes=self._memory_bytes,
            cancelled=self._control.should_stop(),
        )

    def _most(self) -> int:
        settings = self._settings
        return MAX_LOOKAHEAD if settings.auto_lookahead else settings.lookahead

    def _compare(self) -> tuple[bool | None, Divergence | None]:
        """Compare the lanes' tokens where they must be the same."""
        settings = self._settings
        same = settings.temperature == 0 or settings.coupling is Coupling.SHARED_NOISE
        if not same or not self._records:
            return None, None
        if any(_summaries(r)[1].mixed_settings for r in self._records):
            return None, None
        found = [d for d in map(self._divergence, self._records) if d is not None]
        worst = [d for d in found if d.kind is DivergenceKind.BUG] or found
        return not found, worst[0] if worst else None

    def _divergence(self, record: Repeat) -> Divergence | None:
        plan = self._plans[Lane.PLAIN]
        return divergence(
            record[Lane.PLAIN].tokens,
            record[Lane.SPECULATIVE].tokens,
            row_invariant=plan.target.facts.row_invariant,
        )


def _starting_order(repeat: int) -> tuple[Lane, Lane]:
    if repeat % 2:
        return Lane.SPECULATIVE, Lane.PLAIN
    return Lane.PLAIN, Lane.SPECULATIVE


def _whole(summary: LaneSummary | None) -> bool:
    unfinished = (StopReason.CANCELLED, StopReason.ERROR)
    return summary is not None and summary.stop_reason not in unfinished


def _summaries(record: Repeat) -> tuple[LaneSummary, LaneSummary]:
    plain, fast = record[Lane.PLAIN].summary, record[Lane.SPECULATIVE].summary
    assert plain is not None
    assert fast is not None
    return plain, fast


def _speedup(records: list[Repeat]) -> Speedup:
    ratios = []
    totals = []
    for plain, fast in map(_summaries, records):
        if plain.ms_per_token and fast.ms_per_token:
            ratios.append(plain.ms_per_token / fast.ms_per_token)
            totals.append(plain.total_ms / fast.total_ms)
    if not ratios:
        return Speedup(None, None, None, 0, None)
    return Speedup(
        median(ratios), min(ratios), max(ratios), len(ratios), median(totals)
    )


def _verdict(speedup: Speedup, plain: LaneSummary, fast: LaneSummary) -> JudgedSpeed:
    if speedup.low is None or speedup.high is None or speedup.repeats < MIN_REPEATS:
        return JudgedSpeed.NONE
    if min(plain.counts.emitted, fast.counts.emitted) < SHORTEST:
        return JudgedSpeed.TOO_SHORT
    if speedup.low > HELPS:
        return JudgedSpeed.HELPS
    return JudgedSpeed.HURTS if speedup.high < HURTS else JudgedSpeed.NEUTRAL


def _lane_summary(summaries: list[LaneSummary]) -> LaneSummary:
    """Return medians of the times; text, tokens and counts of the first repeat."""
    if not summaries:
        return LaneSummary(
            "", (), StopReason.CANCELLED, Counts(), None, None, None, 0.0
        )
    return dataclasses.replace(
        summaries[0],
        ms_per_token=_median([s.ms_per_token for s in summaries]),
        tokens_per_second=_median([s.tokens_per_second for s in summaries]),
        time_to_first_token_ms=_median([s.time_to_first_token_ms for s in summaries]),
        total_ms=median(s.total_ms for s in summaries),
    )


def _median(values: list[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return median(known) if known else None


def _break_even(records: list[Repeat], lookahead: int) -> float | None:
    """Return the acceptance that would break even at the measured costs per round."""
    pairs = [(r[Lane.SPECULATIVE], *_summaries(r)) for r in records]
    rounds = sum(fast.counts.rounds for _, _, fast in pairs)
    plain = [p.ms_per_token for _, p, _ in pairs if p.ms_per_token]
    if not rounds or not plain:
        return None
    drafted = sum(fast.counts.drafted for _, _, fast in pairs) / rounds
    return metrics.break_even_acceptance(
        min(lookahead, max(1, round(drafted))),
        sum(record.draft_ms for record, _, _ in pairs) / rounds,
        sum(record.rest_ms for record, _, _ in pairs) / rounds,
        median(plain),
    )
