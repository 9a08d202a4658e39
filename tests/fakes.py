"""A decoder without a model: plays a script through the real Session interface."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from core.config import DecodingConfig, DecodingRequest, PairConfig
from core.control import Control
from core.events import (
    Candidate,
    Counts,
    Event,
    JudgedSpeed,
    Lane,
    LaneSummary,
    LoadProgress,
    Machine,
    ModelFacts,
    Origin,
    PairLoaded,
    Place,
    PrefillFinished,
    PrefillProgress,
    RaceFinished,
    RaceStarted,
    RepeatFinished,
    RoundFinished,
    RunFinished,
    RunStarted,
    SettingsChanged,
    Speedup,
    StopReason,
    TokenOutcome,
    Verdict,
)
from core.session import Session

CODE = (
    "def fibonacci(n: int) -> int:\n\t'Return the n-th number.'\n"
    "\ta, b = 0, 1\n\tfor _ in range(n):\n\t\ta, b = b, a + b\n"
    "\treturn a\n"
)
WORDS = tuple(CODE.split(" "))


def model_facts(name: str = "scripted", parameters: int = 135_000_000) -> ModelFacts:
    """Return the facts of a model that does not exist."""
    return ModelFacts(
        name, name, parameters, 30, 49152, 8192, "cpu", "float32", 540_000_000, True
    )


def machine() -> Machine:
    """Return the facts of a machine that does not exist."""
    return Machine("Test", "Test CPU", 2, 8 << 30, "cpu", "3", "2", "5", "0")


def word(index: int) -> str:
    """Return the text of token ``index``: code, over and over."""
    return WORDS[index % len(WORDS)].replace("\t", "    ") + " "


def make_round(
    run_id: str,
    lane: Lane,
    index: int,
    position: int,
    config: DecodingConfig,
    accepted: int,
) -> RoundFinished:
    """Return a round that keeps every rule of counting."""
    lookahead = config.lookahead if lane is Lane.SPECULATIVE else 0
    accepted = min(accepted, lookahead)
    places = tuple(
        make_place(i, position, lookahead, accepted) for i in range(1, lookahead + 1)
    )
    tokens = make_tokens(lane, position, lookahead, accepted)
    refused = int(accepted < lookahead)
    counts = Counts(
        1, lookahead, accepted + refused, accepted, refused, 1 - refused, len(tokens)
    )
    draft, verify = 1.5 * lookahead, 40.0 + (index * 7) % 9
    return RoundFinished(
        run_id,
        lane,
        index,
        position,
        config,
        lookahead,
        places,
        tokens,
        counts,
        draft,
        verify,
        0.8,
        0.4,
        clock_ms=(draft + verify + 1.2) * (index + 1),
    )


def make_place(index: int, position: int, lookahead: int, accepted: int) -> Place:
    """Return a proposal, judged as its place says."""
    text = word(position + index - 1)
    if index > accepted + 1:
        return Place(index, index, text, Verdict.DISCARDED, 0.7, draft_top=_top(text))
    ok = index <= accepted
    return Place(
        index,
        index,
        text if ok else "enumerate",
        Verdict.ACCEPTED if ok else Verdict.REFUSED,
        0.82,
        0.88 if ok else 0.31,
        0.12 if ok else 0.71,
        1.0 if ok else 0.38,
        0.8,
        0.5,
        True,
        None,
        _top(text),
        _top("range"),
        _top("range"),
    )


def _top(text: str) -> tuple[Candidate, ...]:
    names = (text, "zip", "len", "map")
    shares = (0.6, 0.2, 0.1, 0.05)
    return tuple(
        Candidate(i, n, s) for i, (n, s) in enumerate(zip(names, shares, strict=True))
    )


def make_tokens(
    lane: Lane, position: int, lookahead: int, accepted: int
) -> tuple[TokenOutcome, ...]:
    """Return the committed tokens of a round."""
    kept = [
        TokenOutcome(i, word(position + i), Origin.ACCEPTED, 0.9, 0.8, 1.0, i + 1)
        for i in range(accepted)
    ]
    last = Origin.BONUS if accepted == lookahead else Origin.RESAMPLED
    if lane is Lane.PLAIN:
        last = Origin.PLAIN
    place = accepted + 1 if last is Origin.RESAMPLED else None
    kept.append(
        TokenOutcome(99, word(position + accepted), last, 0.6, None, None, place)
    )
    return tuple(kept)


@dataclass
class LaneScript:
    """One lane of a scripted run, a round at a time."""

    request: DecodingRequest
    lane: Lane
    repeat: int = 0
    warm_up: bool = False
    config: DecodingConfig = field(default_factory=DecodingConfig)
    index: int = 0
    position: int = 0
    clock_ms: float = 0.0
    counts: Counts = field(default_factory=Counts)
    text: str = ""

    def started(self) -> list[Event]:
        """Return what comes before the first round."""
        run_id, draft = self.request.run_id, model_facts("draft", 11_000_000)
        if self.lane is Lane.PLAIN:
            draft = None
        prompt = (TokenOutcome(1, self.request.prompt, Origin.PROMPT),)
        return [
            RunStarted(
                run_id,
                self.lane,
                self.repeat,
                self.config,
                model_facts(),
                draft,
                prompt,
                self.warm_up,
            ),
            PrefillProgress(run_id, self.lane, 1, 1),
            PrefillFinished(run_id, self.lane, 12.0),
        ]

    def round(self, wanted: DecodingConfig) -> list[Event]:
        """Return the next round, and before it the change of settings if any."""
        events: list[Event] = []
        if wanted != self.config:
            events.append(
                SettingsChanged(
                    self.request.run_id, self.lane, self.position, self.config, wanted
                )
            )
            self.config = wanted
        accepted = (3, 1, 4, 2, 0, 4)[self.index % 6]
        event = make_round(
            self.request.run_id,
            self.lane,
            self.index,
            self.position,
            self.config,
            accepted,
        )
        self.clock_ms += event.round_ms
        event = replace(event, clock_ms=self.clock_ms)
        self.index += 1
        self.position += len(event.tokens)
        self.counts += event.counts
        self.text += "".join(t.text for t in event.tokens)
        return [*events, event]

    def summary(self, reason: StopReason) -> LaneSummary:
        """Return the totals so far."""
        per_token = self.clock_ms / self.position if self.position else None
        return LaneSummary(
            self.text,
            tuple(range(self.position)),
            reason,
            self.counts,
            per_token,
            1000 / per_token if per_token else None,
            60.0,
            self.clock_ms + 12.0,
        )


class ScriptedSession(Session):
    """Play rounds at once, until told to hold or to fail.

    Attributes:
        rounds: how many rounds each lane has.
        hold_before: round before which the worker waits for :meth:`release`.
        fail_before: round before which ``error`` is raised.
        error: what is raised.
        deaf: do not listen to stop while holding, like a very long step.
        held: set when the worker waits at ``hold_before``.
        settings_seen: the settings read at the start of every round.
    """

    def __init__(self, rounds: int = 6) -> None:
        self.rounds = rounds
        self.hold_before: int | None = None
        self.fail_before: int | None = None
        self.error: Exception = RuntimeError("scripted fault")
        self.held = threading.Event()
        self.settings_seen: list[DecodingConfig] = []
        self.loads: list[PairConfig] = []
        self.deaf = False
        self.load_error: Exception | None = None
        self._go = threading.Event()

    def release(self) -> None:
        """Let a held worker go on."""
        self._go.set()

    def load(self, pair: PairConfig, control: Control) -> Iterator[Event]:
        yield LoadProgress("Reading the scripted target", 0.3, "12 MB of 40 MB")
        if self.load_error is not None:
            raise self.load_error
        if control.should_stop():
            return
        self.loads.append(pair)
        yield PairLoaded(model_facts(), model_facts("draft", 11_000_000))

    def run(self, request: DecodingRequest, control: Control) -> Iterator[Event]:
        script = LaneScript(request, Lane.SPECULATIVE, config=request.config)
        yield from script.started()[:1]
        yield from script.started()[1:]
        for index in range(self.rounds):
            self._before(index, control)
            if control.should_stop():
                yield self._finished(script, StopReason.CANCELLED)
                return
            yield from script.round(self._settings(control))
        yield self._finished(script, StopReason.LENGTH)

    def race(self, request: DecodingRequest, control: Control) -> Iterator[Event]:
        yield RaceStarted(request.run_id, request.repeats)
        for repeat in range(request.repeats + 1):
            yield from self._repeat(request, repeat, control)
        yield self._race_finished(request, control.should_stop())

    def prompt_tokens(self, request: DecodingRequest) -> tuple[tuple[int, str], ...]:
        return tuple(enumerate(request.prompt.split()))

    def _repeat(
        self, request: DecodingRequest, repeat: int, control: Control
    ) -> Iterator[Event]:
        scripts = [
            LaneScript(request, lane, repeat, not repeat, control.settings())
            for lane in Lane
        ]
        for script in scripts:
            yield from script.started()
        for index in range(self.rounds):
            self._before(index, control)
            if control.should_stop():
                break
            for script in scripts:
                yield from script.round(self._settings(control))
        reason = StopReason.CANCELLED if control.should_stop() else StopReason.LENGTH
        for script in scripts:
            yield self._finished(script, reason)
        if repeat and not control.should_stop():
            yield RepeatFinished(request.run_id, repeat, 1.8, 1.6, True)

    def _before(self, index: int, control: Control) -> None:
        if index == self.fail_before:
            raise self.error
        if index == self.hold_before:
            self.held.set()
            while not self._go.wait(0.002):
                if control.should_stop() and not self.deaf:
                    break

    def _settings(self, control: Control) -> DecodingConfig:
        self.settings_seen.append(control.settings())
        return control.settings()

    @staticmethod
    def _finished(script: LaneScript, reason: StopReason) -> RunFinished:
        return RunFinished(
            script.request.run_id, script.lane, script.repeat, script.summary(reason)
        )

    def _race_finished(self, request: DecodingRequest, cancelled: bool) -> RaceFinished:
        lanes = []
        for lane in (Lane.PLAIN, Lane.SPECULATIVE):
            script = LaneScript(request, lane, config=request.config)
            for _ in range(self.rounds):
                script.round(request.config)
            lanes.append(script.summary(StopReason.LENGTH))
        return RaceFinished(
            request.run_id,
            lanes[0],
            lanes[1],
            Speedup(1.81, 1.74, 1.86, request.repeats, 1.7),
            True,
            None,
            JudgedSpeed.HELPS,
            0.30,
            0.68,
            request.config,
            machine(),
            700_000_000,
            cancelled,
        )
