"""A run of one lane, from its prompt to its totals."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from core.config import DecodingConfig
from core.events.outcomes import Counts, Place, TokenOutcome
from core.events.pair import ModelFacts, StepCosts


class Lane(StrEnum):
    """Which of the two ways of decoding an event belongs to."""

    SPECULATIVE = "speculative"
    PLAIN = "plain"


class StopReason(StrEnum):
    """Why a run ended."""

    EOS = "eos"
    STOP = "stop"
    LENGTH = "length"
    CONTEXT = "context"
    CANCELLED = "cancelled"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A lane begins.

    Attributes:
        run_id: the run or race it belongs to.
        lane: speculative or plain.
        repeat: 0 for a single run or a race's warm-up, then 1, 2, 3.
        settings: at the start.
        target: the target's facts.
        draft: the drafter's facts; None in the plain lane.
        prompt: the prompt's tokens, origin PROMPT.
        warm_up: this repeat is discarded.
        costs: of the pair's steps, from which an automatic K is chosen; None in the
            plain lane.
    """

    run_id: str
    lane: Lane
    repeat: int
    settings: DecodingConfig
    target: ModelFacts
    draft: ModelFacts | None
    prompt: tuple[TokenOutcome, ...]
    warm_up: bool = False
    costs: StepCosts | None = None


@dataclass(frozen=True, slots=True)
class PrefillProgress:
    """A chunk of the prompt was read."""

    run_id: str
    lane: Lane
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class PrefillFinished:
    """The prompt is in the caches."""

    run_id: str
    lane: Lane
    prefill_ms: float


@dataclass(frozen=True, slots=True)
class SettingsChanged:
    """Settings changed and hold from the token at ``position`` on.

    Attributes:
        position: index of the first emitted token under the new settings.
        before: the settings until here.
        after: the settings from here.
    """

    run_id: str
    lane: Lane
    position: int
    before: DecodingConfig
    after: DecodingConfig


@dataclass(frozen=True, slots=True)
class Noted:
    """Something a person should know happened in mid-run (one sentence)."""

    run_id: str
    lane: Lane
    position: int
    sentence: str


@dataclass(frozen=True, slots=True)
class RoundFinished:
    """One cycle of propose, verify and commit.

    Attributes:
        run_id: the run.
        lane: the lane.
        round_index: from 0.
        position: index of the first token emitted by this round.
        settings: held for the whole round.
        lookahead: tokens really proposed (K, shortened by the room left).
        places: the proposals, judged or not.
        tokens: the committed tokens, 1 to K + 1.
        counts: this round's counts.
        draft_ms: proposing, catching up included.
        verify_ms: the target's pass.
        rule_ms: warping, judging, drawing.
        other_ms: the rest of the round: text, records, bookkeeping.
        clock_ms: the lane's own clock at the end, prefill not counted.
        held_characters: characters at the end of the text so far that must not be
            shown yet, since a stop string may be growing in them.
        auto_lookahead: the K that was chosen for this round where K is automatic, else
            None; a drafter may propose fewer.
    """

    run_id: str
    lane: Lane
    round_index: int
    position: int
    settings: DecodingConfig
    lookahead: int
    places: tuple[Place, ...]
    tokens: tuple[TokenOutcome, ...]
    counts: Counts
    draft_ms: float
    verify_ms: float
    rule_ms: float
    other_ms: float
    clock_ms: float
    held_characters: int = 0
    auto_lookahead: int | None = None

    @property
    def round_ms(self) -> float:
        """The whole round in milliseconds."""
        return self.draft_ms + self.verify_ms + self.rule_ms + self.other_ms


@dataclass(frozen=True, slots=True)
class LaneSummary:
    """A lane's totals (in a race: medians, and the first repeat's text and counts).

    Attributes:
        text: without the stop string, without half a character.
        tokens: the emitted ids, the end token included.
        stop_reason: why it ended.
        counts: of the whole run.
        ms_per_token: end of prefill to last commit, over emitted; None without tokens.
        tokens_per_second: 1000 / ms_per_token.
        time_to_first_token_ms: prefill of every model used, and the first round.
        total_ms: prefill and all rounds.
        mixed_settings: settings changed in mid-run.
    """

    text: str
    tokens: tuple[int, ...]
    stop_reason: StopReason
    counts: Counts
    ms_per_token: float | None
    tokens_per_second: float | None
    time_to_first_token_ms: float | None
    total_ms: float
    mixed_settings: bool = False


@dataclass(frozen=True, slots=True)
class RunFinished:
    """A lane ended.

    Attributes:
        summary: its totals.
        error: the sentence when ``stop_reason`` is ERROR.
    """

    run_id: str
    lane: Lane
    repeat: int
    summary: LaneSummary
    error: str = ""
