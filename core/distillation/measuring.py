"""What a finished draft is worth in real rounds, on prompts it never learned from."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from statistics import median

from core import metrics
from core.checkpoints.loading import LoadedModel
from core.config import DecodingConfig, DecodingRequest
from core.decoding.prompting import encode_prompt
from core.distillation.plan import DraftFigures, KindFigures, SpeedFigures
from core.distillation.prompts import TrainingPrompt
from core.drafters.draft_model import DraftModel
from core.events import Counts
from core.lab.bench import predict
from core.lab.contenders import Ours, Timing
from core.lab.step_costs import step_costs
from core.machine import describe_machine

LOOKAHEAD = 2  # short, so that a draft of modest acceptance still shows its worth
TEMPERATURES = (0.0, 1.0)
ROWS = (1, 2, 3, 5, 9)
LEAST_TOKENS = 16  # a shorter text says nothing about speed


@dataclass(frozen=True, slots=True)
class _Pair:
    """One prompt decoded in both ways."""

    kind: str
    temperature: float
    plain: Timing
    fast: Timing

    @property
    def speedup(self) -> float | None:
        """Plain over speculative time per token; None where the text is short."""
        one, other = self.plain.tokens_per_second, self.fast.tokens_per_second
        short = min(len(self.plain.tokens), len(self.fast.tokens)) < LEAST_TOKENS
        return None if short or not one or not other else other / one


def chosen_prompts(
    prompts: Sequence[TrainingPrompt], per_kind: int
) -> list[TrainingPrompt]:
    """Return the first held-out prompts of every kind."""
    found: dict[str, list[TrainingPrompt]] = {}
    for prompt in prompts:
        if prompt.held_out:
            found.setdefault(prompt.kind, []).append(prompt)
    return [p for own in found.values() for p in own[:per_kind]]


def measure(
    target: LoadedModel,
    draft: LoadedModel,
    prompts: Sequence[TrainingPrompt],
    tokens: int,
    should_stop: Callable[[], bool],
) -> Generator[float, None, DraftFigures | None]:
    """Decode ``prompts`` plainly and speculatively, greedily and sampled.

    Yields:
        How far it is, 0 to 1.

    Returns:
        The figures; None when stopped.
    """
    costs = [
        step_costs(loaded.model, rows, should_stop=should_stop)
        for loaded, rows in ((target, ROWS), (draft, ROWS[:1]))
    ]
    ways = _ways(target, draft)
    ways[1](_ids(target, prompts[0]), _settings(0.0, 8))  # warms caches and pools up
    pairs: list[_Pair] = []
    total = len(prompts) * len(TEMPERATURES)
    for prompt in prompts:
        for temperature in TEMPERATURES:
            if should_stop():
                return None
            settings = _settings(temperature, tokens)
            both = [way(_ids(target, prompt), settings) for way in ways]
            pairs.append(_Pair(prompt.kind, temperature, *both))
            yield len(pairs) / total
    if should_stop():
        return None
    return _figures(pairs, costs[0], costs[1][1], target.device)


def _ways(target: LoadedModel, draft: LoadedModel) -> tuple[Ours, Ours]:
    vocabulary = target.model.facts.vocabulary_size
    return Ours(target), Ours(
        target,
        lambda room, model: DraftModel(model, room, vocabulary, draft.head_ids),
        draft,
    )


def _settings(temperature: float, tokens: int) -> DecodingConfig:
    return DecodingConfig(
        lookahead=LOOKAHEAD, temperature=temperature, max_new_tokens=tokens
    )


def _ids(target: LoadedModel, prompt: TrainingPrompt) -> tuple[int, ...]:
    request = DecodingRequest("measure", prompt.text, use_chat_template=prompt.chat)
    return encode_prompt(target.tokenizer, request)


def _figures(
    pairs: list[_Pair], target_ms: dict[int, float], draft_ms: float, device: str
) -> DraftFigures:
    kinds = dict.fromkeys(pair.kind for pair in pairs)
    return DraftFigures(
        lookahead=LOOKAHEAD,
        target_ms=target_ms[1],
        draft_ms=draft_ms,
        speeds=tuple(
            _speed(t, [p for p in pairs if p.temperature == t], target_ms, draft_ms)
            for t in TEMPERATURES
        ),
        kinds=tuple(
            _kind([p for p in pairs if (p.kind, p.temperature) == (kind, t)])
            for kind in kinds
            for t in TEMPERATURES
        ),
        machine=describe_machine(device),
    )


def _speed(
    temperature: float,
    pairs: list[_Pair],
    target_ms: dict[int, float],
    draft_ms: float,
) -> SpeedFigures:
    counts = _counts(pairs)
    return SpeedFigures(
        temperature,
        metrics.acceptance_rate(counts),
        metrics.tokens_per_round(counts),
        predict([p.fast for p in pairs], [p.plain for p in pairs], target_ms, draft_ms),
        _median(pairs),
    )


def _kind(pairs: list[_Pair]) -> KindFigures:
    counts = _counts(pairs)
    return KindFigures(
        pairs[0].kind,
        pairs[0].temperature,
        len(pairs),
        metrics.acceptance_rate(counts),
        metrics.tokens_per_round(counts),
        _median(pairs),
    )


def _counts(pairs: list[_Pair]) -> Counts:
    return sum((pair.fast.counts for pair in pairs), Counts())


def _median(pairs: list[_Pair]) -> float | None:
    found = [pair.speedup for pair in pairs if pair.speedup is not None]
    return median(found) if found else None
