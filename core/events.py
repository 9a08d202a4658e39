"""What happens in a run, as frozen dataclasses of plain Python values.

The window, the command line, the trace file and the tests consume the same events. They
carry everything that could be drawn, so that nobody who listens has to compute, and no
tensor, so that nobody who listens keeps device memory alive.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from core.config import DecodingConfig


class Lane(StrEnum):
    """Which of the two ways of decoding an event belongs to."""

    SPECULATIVE = "speculative"
    PLAIN = "plain"


class Origin(StrEnum):
    """How a token came to be."""

    PROMPT = "prompt"
    ACCEPTED = "accepted"
    RESAMPLED = "resampled"
    BONUS = "bonus"
    PLAIN = "plain"


class Verdict(StrEnum):
    """What became of a proposal."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    DISCARDED = "discarded"  # stood behind the end of the round; never judged


class StopReason(StrEnum):
    """Why a run ended."""

    EOS = "eos"
    STOP = "stop"
    LENGTH = "length"
    CONTEXT = "context"
    CANCELLED = "cancelled"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One token of a distribution.

    Attributes:
        token_id: its id.
        text: a label for people; bytes that are no character stand as <0xNN>.
        probability: its share, 0 to 1.
    """

    token_id: int
    text: str
    probability: float


@dataclass(frozen=True, slots=True)
class Place:
    """One proposal of a round and how it was judged.

    Probabilities are those that the rule used (warped). Under temperature 0 these are 0
    or 1, and the three lists of candidates show the unwarped softmax instead.

    Attributes:
        index: the place in the block, from 1.
        token_id: the proposed token.
        text: its label.
        verdict: accepted, refused or discarded.
        draft_probability: of the proposed token under the draft; 1 if it was certain.
        target_probability: of the proposed token under the target; None if not judged.
        uniform: the number u that decided; None where none was drawn.
        acceptance_probability: min(1, target / draft); None if not judged.
        overlap: sum over the vocabulary of min(draft, target); None if not judged.
        product: sum over the vocabulary of draft * target; None if not judged.
        shared_noise_agrees: whether shared noise would have accepted here.
        target_choice: the label of the token that the target itself chose (temperature
            0 and shared noise), else None.
        draft_top: the most probable tokens of the draft, at most 8.
        target_top: the most probable tokens of the target, at most 8.
        residual_top: the most probable tokens of the residual, at most 8.
    """

    index: int
    token_id: int
    text: str
    verdict: Verdict
    draft_probability: float
    target_probability: float | None = None
    uniform: float | None = None
    acceptance_probability: float | None = None
    overlap: float | None = None
    product: float | None = None
    shared_noise_agrees: bool | None = None
    target_choice: str | None = None
    draft_top: tuple[Candidate, ...] = ()
    target_top: tuple[Candidate, ...] = ()
    residual_top: tuple[Candidate, ...] = ()


@dataclass(frozen=True, slots=True)
class TokenOutcome:
    """One committed token and how it came to be.

    Attributes:
        token_id: its id.
        text: what it adds to the text; empty while a character or stop string may
            still be growing, and for an end token.
        origin: accepted, resampled, bonus, plain or prompt.
        target_probability: under the target as warped; None for a prompt token.
        draft_probability: under the draft; None when no proposal was judged here.
        acceptance_probability: of the proposal judged here; None without one.
        place: index of the judged place of its round (from 1), or None.
        target_top: the target's most probable tokens where no place was judged.
        margin: how far the scores that chose it put it before the second best: logits
            at temperature 0, log-probability plus noise where the target's own noise
            chose; None elsewhere.
        near_tie: the margin is within the rounding of the model's dtype.
    """

    token_id: int
    text: str
    origin: Origin
    target_probability: float | None = None
    draft_probability: float | None = None
    acceptance_probability: float | None = None
    place: int | None = None
    target_top: tuple[Candidate, ...] = ()
    margin: float | None = None
    near_tie: bool = False


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts of a run (DESIGN: tested = accepted + resampled, and so on)."""

    rounds: int = 0
    drafted: int = 0
    tested: int = 0
    accepted: int = 0
    resampled: int = 0
    bonus: int = 0
    emitted: int = 0

    def __add__(self, other: Counts) -> Counts:
        """Return the sums, count by count."""
        return Counts(
            self.rounds + other.rounds,
            self.drafted + other.drafted,
            self.tested + other.tested,
            self.accepted + other.accepted,
            self.resampled + other.resampled,
            self.bonus + other.bonus,
            self.emitted + other.emitted,
        )


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """A loaded model, as far as a reader of the events needs to know it.

    Attributes:
        name: short name for people.
        reference: what was asked for (folder, id, file, ``demo``, ``lookup``).
        num_parameters: 0 for a drafter without weights.
        num_layers: decoder layers.
        vocabulary_size: ids that the tokenizer knows.
        context_length: positions that the model was made for.
        device: where it runs.
        dtype: of its weights and cache.
        memory_bytes: of its weights.
        row_invariant: a row's logits do not depend on the rows beside it.
    """

    name: str
    reference: str
    num_parameters: int
    num_layers: int
    vocabulary_size: int
    context_length: int
    device: str
    dtype: str
    memory_bytes: int
    row_invariant: bool


@dataclass(frozen=True, slots=True)
class LoadProgress:
    """A load, download or warm-up goes on.

    Attributes:
        stage: what is being done, for people.
        fraction: 0 to 1, or None when it cannot be known.
        detail: more words, for example bytes and rate.
    """

    stage: str
    fraction: float | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class RoundOverhead:
    """What a round costs beside its models' steps.

    Attributes:
        round_ms: of every round: judging, drawing, records, text.
        proposal_ms: for each proposed token on top.
        start_ms: once on top where anything is proposed: the draft's first step finds
            its weights pushed out of the caches by the target's.
        judged_ms: for each judged proposal on top: its records.
    """

    round_ms: float
    proposal_ms: float
    start_ms: float = 0.0
    judged_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class StepCosts:
    """What the steps of a pair cost, measured once when it was loaded.

    Attributes:
        rows: numbers of rows, rising from 1.
        target_ms: a step of the target at each of ``rows``.
        draft_ms: a step of the draft at one row; 0 for a drafter without weights.
        draft_two_rows_ms: the same at two rows, as after a full acceptance.
        draft_read_ms: reading one token of many that the draft missed in rounds without
            proposals.
        greedy: overhead of a round at temperature 0.
        sampled: overhead of a round above it.
        context: tokens in the caches when the steps were timed.
        target_token_ms: what each row of a target's step costs more with each token of
            context beyond that: attention.
        draft_token_ms: the same of a draft's step of one row.
    """

    rows: tuple[int, ...]
    target_ms: tuple[float, ...]
    draft_ms: float
    draft_two_rows_ms: float
    draft_read_ms: float
    greedy: RoundOverhead
    sampled: RoundOverhead
    context: int = 0
    target_token_ms: float = 0.0
    draft_token_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class PairLoaded:
    """The pair is ready.

    Attributes:
        target: the target's facts.
        draft: the drafter's facts, or None when decoding is plain.
        notes: sentences that a person should know (device, tokenizer, kernels).
        costs: of its steps; None when decoding is plain.
    """

    target: ModelFacts
    draft: ModelFacts | None
    notes: tuple[str, ...] = ()
    costs: StepCosts | None = None


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


@dataclass(frozen=True, slots=True)
class RaceStarted:
    """A race begins: a discarded warm-up, then ``repeats`` measured repeats."""

    run_id: str
    repeats: int


@dataclass(frozen=True, slots=True)
class RepeatFinished:
    """One measured repeat of a race ended in both lanes.

    Attributes:
        repeat: from 1.
        speedup: plain over speculative ``ms_per_token``; None if either has none.
        total_speedup: the same of ``total_ms``.
        counted: False when K was changed in it.
    """

    run_id: str
    repeat: int
    speedup: float | None
    total_speedup: float | None
    counted: bool


class JudgedSpeed(StrEnum):
    """What a race says about the pair."""

    HELPS = "helps"
    NEUTRAL = "neutral"
    HURTS = "hurts"
    TOO_SHORT = "too short to judge"
    NONE = "none"  # fewer than three counted repeats


class DivergenceKind(StrEnum):
    """What two different texts that should be equal mean."""

    NEAR_TIE = "near tie"
    BUG = "bug"


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first token at which two lanes that should agree do not.

    Attributes:
        position: index of the emitted token.
        gap: distance of the two best in the scores that chose it, the larger lane's.
        kind: near tie (within rounding) or bug.
    """

    position: int
    gap: float | None
    kind: DivergenceKind


@dataclass(frozen=True, slots=True)
class Speedup:
    """Plain over speculative milliseconds per token.

    Attributes:
        median: over the counted repeats; None without one.
        low: the smallest.
        high: the largest.
        repeats: how many were counted.
        total: median ratio of the total times, prefills included.
    """

    median: float | None
    low: float | None
    high: float | None
    repeats: int
    total: float | None


@dataclass(frozen=True, slots=True)
class Machine:
    """What the numbers were measured on. No names, no paths, no tokens."""

    system: str
    processor: str
    num_cores: int
    memory_bytes: int
    device: str
    python: str
    torch: str
    transformers: str
    draftrace: str


@dataclass(frozen=True, slots=True)
class RaceFinished:
    """A race ended.

    Attributes:
        plain: the plain lane.
        speculative: the speculative lane.
        speedup: with its spread.
        identical: both lanes emitted the same tokens; None where they need not.
        divergence: the first difference where ``identical`` is False.
        verdict: helps, neutral, hurts, or why there is none.
        break_even_acceptance: acceptance rate at which this pair breaks even at the
            measured costs; None if no rate below 1 does or it cannot be computed.
        acceptance_rate: the measured one; None if nothing was tested.
        settings: at the start.
        machine: what it ran on.
        memory_bytes: weights and caches of both lanes.
        cancelled: ended early by the person.
    """

    run_id: str
    plain: LaneSummary
    speculative: LaneSummary
    speedup: Speedup
    identical: bool | None
    divergence: Divergence | None
    verdict: JudgedSpeed
    break_even_acceptance: float | None
    acceptance_rate: float | None
    settings: DecodingConfig
    machine: Machine
    memory_bytes: int
    cancelled: bool = False


Event = (
    LoadProgress
    | PairLoaded
    | RunStarted
    | PrefillProgress
    | PrefillFinished
    | SettingsChanged
    | Noted
    | RoundFinished
    | RunFinished
    | RaceStarted
    | RepeatFinished
    | RaceFinished
)
