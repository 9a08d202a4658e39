"""Plain decoding's law, written slowly from DESIGN.md 1 in plain Python numbers.

Nothing here comes from ``core.sampling`` or ``core.decoding``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from core.config import DecodingConfig
from core.events import StopReason

Row = Callable[[tuple[int, ...]], Sequence[float]]


def penalised(
    scores: list[float], prefix: Sequence[int], prompt: int, settings: DecodingConfig
) -> list[float]:
    """Penalties and bans of one prefix, token by token."""
    emitted = list(prefix[prompt:])
    out = []
    for token, score in enumerate(scores):
        if token in prefix:
            by = settings.repetition_penalty
            score = score / by if score > 0 else score * by
        times = emitted.count(token)
        if times:
            score -= settings.presence_penalty + settings.frequency_penalty * times
        out.append(score)
    banned = [banned_by(prefix, t, settings.no_repeat_ngram) for t in range(len(out))]
    kept = [-math.inf if b else s for b, s in zip(banned, out, strict=True)]
    return out if all(s == -math.inf for s in kept) else kept


def banned_by(prefix: Sequence[int], token: int, size: int) -> bool:
    """Whether ``token`` would complete a run of ``size`` that was there before."""
    if size == 0 or len(prefix) < size:
        return False
    run = (*prefix[len(prefix) - size + 1 :], token)
    runs = [tuple(prefix[i : i + size]) for i in range(len(prefix) - size + 1)]
    return run in runs


def warped(scores: list[float], settings: DecodingConfig) -> list[float]:
    """Temperature, top-k, top-p, min-p, in this order."""
    ranked = sorted(range(len(scores)), key=lambda i: (-scores[i], i))
    if settings.temperature == 0:
        return [float(i == ranked[0]) for i in range(len(scores))]
    top = scores[ranked[0]]
    weights = [math.exp((s - top) / settings.temperature) for s in scores]
    kept = ranked[: settings.top_k] if settings.top_k else ranked
    law = normalised(weights, kept)
    if settings.top_p < 1:
        kept = nucleus(law, kept, settings.top_p)
        law = normalised(law, kept)
    floor = settings.min_p * max(law)
    return normalised(law, [i for i in kept if law[i] >= floor])


def normalised(weights: Sequence[float], kept: Sequence[int]) -> list[float]:
    total = math.fsum(weights[i] for i in kept)
    return [w / total if i in kept else 0.0 for i, w in enumerate(weights)]


def nucleus(law: Sequence[float], ranked: Sequence[int], mass: float) -> list[int]:
    """The smallest set of most probable tokens that reaches ``mass``, with ties."""
    total, last = 0.0, 0.0
    for token in ranked:
        total, last = total + law[token], law[token]
        if total >= mass:
            break
    return [i for i in ranked if law[i] >= last]


def next_law(
    row: Row, prefix: tuple[int, ...], prompt: int, settings: DecodingConfig, width: int
) -> list[float]:
    """The law of the token after ``prefix``; rows beyond ``width`` are masked."""
    scores = [float(s) for s in row(prefix)][:width]
    return warped(penalised(scores, prefix, prompt, settings), settings)


def plain_law(
    row: Row,
    width: int,
    settings: DecodingConfig,
    *,
    prompt: tuple[int, ...] = (0, 1),
    eos_ids: Sequence[int] = (),
    text_of: Callable[[Sequence[int]], str] = lambda ids: "".join(f" {i}" for i in ids),
    by_context: bool = False,
) -> dict[tuple[tuple[int, ...], str, StopReason], float]:
    """The law of plain decoding's output: emitted ids, text, reason."""
    law: dict[tuple[tuple[int, ...], str, StopReason], float] = {}
    open_prefixes = {prompt: 1.0}
    while open_prefixes:
        prefix, weight = open_prefixes.popitem()
        shares = next_law(row, prefix, len(prompt), settings, width)
        for token, share in enumerate(shares):
            if share == 0:
                continue
            longer = (*prefix, token)
            end = ended(longer[len(prompt) :], settings, eos_ids, text_of, by_context)
            if end is None:
                open_prefixes[longer] = weight * share
            else:
                law[(longer[len(prompt) :], *end)] = weight * share
    return law


def ended(
    emitted: tuple[int, ...],
    settings: DecodingConfig,
    eos_ids: Sequence[int],
    text_of: Callable[[Sequence[int]], str],
    by_context: bool,
) -> tuple[str, StopReason] | None:
    """Text and reason if the last of ``emitted`` ends the run."""
    if emitted[-1] in eos_ids and not settings.ignore_eos:
        return text_of(emitted[:-1]), StopReason.EOS
    text = text_of(emitted)
    found = [text.find(s) for s in settings.stop if s in text]
    if found:
        return text[: min(found)], StopReason.STOP
    if len(emitted) == settings.max_new_tokens:
        return text, StopReason.CONTEXT if by_context else StopReason.LENGTH
    return None
