"""The pair: how its loading goes, what it is, and what its steps cost."""

from __future__ import annotations

from dataclasses import dataclass


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
