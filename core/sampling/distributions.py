"""From logits to the distribution that is drawn from.

In this order, for draft and target alike: penalties and n-gram bans, temperature,
top-k, top-p, min-p. Probabilities are float32, or float64 when the logits are.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import torch
from torch import Tensor

from core.config import DecodingConfig
from core.errors import NumericalError
from core.sampling import kernels

_TINY = torch.finfo(torch.float32).tiny
_NUCLEUS_GUESS = 256  # most nuclei are smaller; a full sort costs many times more


def require_numbers(scores: Tensor, model: str) -> Tensor:
    """Return ``scores`` [..., V] if each row has a finite maximum.

    Raises:
        NumericalError: if a row is NaN or infinite, which a model in a too narrow
            dtype can produce.
    """
    if _are_numbers(scores):
        return scores
    raise NumericalError(
        f"{model} returned scores that are not numbers (NaN or infinite); load it in "
        "float32 or choose another checkpoint.",
        model=model,
    )


def _are_numbers(scores: Tensor) -> bool:
    if kernels.serve(scores):
        return all(kernels.rows.has_peak(row) for row in _rows(scores))
    return bool(torch.isfinite(scores.amax(-1)).all())


def _rows(scores: Tensor) -> Iterable[np.ndarray]:
    """Return the rows of [..., V] as the kernels take them."""
    if scores.dim() == 1:
        return (scores.numpy(),)
    return scores.reshape(-1, scores.shape[-1]).numpy()


def has_penalties(settings: DecodingConfig) -> bool:
    """Return whether scores depend on the tokens before."""
    return bool(
        settings.repetition_penalty != 1
        or settings.presence_penalty
        or settings.frequency_penalty
        or settings.no_repeat_ngram
    )


def penalise(
    logits: Tensor, history: Sequence[int], prompt_length: int, settings: DecodingConfig
) -> Tensor:
    """Return the logits after penalties and n-gram bans for one prefix.

    The repetition penalty (Keskar et al. 2019, arXiv:1909.05858) and the ban look at
    the whole prefix, presence and frequency penalties only at the emitted part.

    Args:
        logits: [V] scores of the next token.
        history: the token ids before it.
        prompt_length: how many of them are the prompt.
        settings: the penalties.

    Returns:
        [V] scores; ``logits`` itself when all penalties are off.
    """
    if not has_penalties(settings):
        return logits
    scores = logits.clone()
    _penalise_repetition(scores, history, settings.repetition_penalty)
    _penalise_emitted(scores, Counter(history[prompt_length:]), settings)
    return _ban(scores, repeated_ngram_ids(history, settings.no_repeat_ngram))


def _known(ids: Sequence[int], scores: Tensor) -> Tensor:
    # A draft's head may have fewer rows than the tokenizer has ids.
    inside = [i for i in ids if i < scores.shape[-1]]
    return torch.tensor(inside, dtype=torch.long, device=scores.device)


def _penalise_repetition(
    scores: Tensor, history: Sequence[int], penalty: float
) -> None:
    if penalty == 1:
        return
    seen = _known(sorted(set(history)), scores)
    values = scores[seen]
    scores[seen] = torch.where(values > 0, values / penalty, values * penalty)


def _penalise_emitted(
    scores: Tensor, counts: Counter[int], settings: DecodingConfig
) -> None:
    if not (settings.presence_penalty or settings.frequency_penalty):
        return
    ids = _known(sorted(counts), scores)
    times = [counts[i] for i in ids.tolist()]
    weights = torch.tensor(times, dtype=scores.dtype, device=scores.device)
    scores[ids] -= settings.presence_penalty + settings.frequency_penalty * weights


def repeated_ngram_ids(history: Sequence[int], size: int) -> list[int]:
    """Return the ids that would repeat a run of ``size`` tokens of ``history``."""
    if size == 0 or len(history) < size:
        return []
    tail = list(history[len(history) - size + 1 :])
    return [
        history[i + size - 1]
        for i in range(len(history) - size + 1)
        if list(history[i : i + size - 1]) == tail
    ]


def _ban(scores: Tensor, ids: list[int]) -> Tensor:
    banned = scores.clone()
    banned[_known(ids, scores)] = -torch.inf
    # With every token banned there would be nothing to draw from: the ban gives way.
    return torch.where(torch.isinf(banned).all(), scores, banned)


def warp(logits: Tensor, settings: DecodingConfig) -> Tensor:
    """Return the distribution after temperature, top-k, top-p and min-p.

    Args:
        logits: [..., V] scores, any float dtype.
        settings: temperature 0 puts all mass on the best token, ties to the lowest id.

    Returns:
        [..., V] probabilities, float32 (float64 for float64 logits), summing to 1.
    """
    scores = logits if logits.dtype == torch.float64 else logits.float()
    if settings.temperature == 0:
        return one_hot(best_token(scores), scores.shape[-1], scores.dtype)
    if 0 < settings.top_k < scores.shape[-1]:
        scores = _best_only(scores, settings.top_k)
    probabilities = softmax(scores, settings.temperature)
    if settings.top_p < 1:
        probabilities = _nucleus(probabilities, settings.top_p)
    if settings.min_p > 0:
        floor = settings.min_p * probabilities.amax(-1, keepdim=True)
        probabilities = torch.where(probabilities < floor, 0, probabilities)
    if settings.top_p < 1 or settings.min_p > 0:
        probabilities = probabilities / probabilities.sum(-1, keepdim=True)
    return probabilities


def warp_numbers(
    scores: Tensor, settings: DecodingConfig, model: str, out: Tensor | None = None
) -> Tensor:
    """Return :func:`warp` of scores [..., V] that a model returned.

    Args:
        scores: of one row or more.
        settings: temperature and the rest.
        model: whose scores they are, for the sentence of an error.
        out: memory like the scores', which may be used for the result.

    Raises:
        NumericalError: if they are not numbers; see :func:`require_numbers`.
    """
    cut = settings.top_k > 0 or settings.top_p < 1 or settings.min_p > 0
    simple = settings.temperature > 0 and not cut and scores.dim() == 1
    if not (simple and kernels.serve(scores)):
        return warp(require_numbers(scores, model), settings)
    law = torch.empty(scores.shape) if out is None else out  # [V]
    if not _soften(scores.numpy(), settings.temperature, law.numpy()):
        require_numbers(scores, model)
    return law


def best_two(scores: Tensor, model: str) -> tuple[int, float]:
    """Return the arg-max of [V] scores, ties to the lowest id, and its lead.

    Args:
        scores: that a model returned.
        model: whose scores they are, for the sentence of an error.

    Returns:
        The id, and by how much the second best is smaller; infinite for a single one.

    Raises:
        NumericalError: if they are not numbers; see :func:`require_numbers`.
    """
    if kernels.serve(scores):
        token_id, best, second, right = kernels.rows.best_two(scores.numpy())
        if not right:
            require_numbers(scores, model)
        return token_id, best - second
    require_numbers(scores, model)
    two = scores.topk(min(2, scores.shape[-1])).values.double()
    best, *others = torch.cat([best_token(scores)[None].double(), two]).tolist()
    return int(best), others[0] - others[1] if len(others) > 1 else math.inf


def _soften(row: np.ndarray, temperature: float, out: np.ndarray) -> bool:
    """Set ``out`` [V] to the law of ``row``; return whether that is made of numbers."""
    # An int would make Numba compile a second time, in the middle of a run.
    return kernels.rows.softmax(row, float(max(temperature, _TINY)), out)


def softmax(scores: Tensor, temperature: float = 1.0) -> Tensor:
    """Return the distribution of ``scores`` [..., V] at a temperature above 0.

    Subtracting the maximum first keeps tiny temperatures from overflowing; one that
    the dtype rounds to 0 would divide 0 by 0.
    """
    if not kernels.serve(scores):
        temperature = max(temperature, torch.finfo(scores.dtype).tiny)
        scores = (scores - scores.amax(-1, keepdim=True)) / temperature
        return scores.softmax(-1)
    probabilities = torch.empty(scores.shape)
    for row, out in zip(_rows(scores), _rows(probabilities), strict=True):
        _soften(row, temperature, out)
    return probabilities


def best_token(scores: Tensor) -> Tensor:
    """Return the arg-max of ``scores`` [..., V] as [...] ids, ties to the lowest id."""
    ids = torch.arange(scores.shape[-1], device=scores.device)  # [V]
    best = scores == scores.amax(-1, keepdim=True)  # [..., V]
    return ids.masked_fill(~best, scores.shape[-1]).amin(-1)  # [...]


def one_hot(ids: Tensor, vocabulary: int, dtype: torch.dtype) -> Tensor:
    """Return [..., V] rows with all mass on ``ids`` [...]."""
    rows = torch.zeros(*ids.shape, vocabulary, dtype=dtype, device=ids.device)
    return rows.scatter_(-1, ids.unsqueeze(-1), 1.0)


def _best_only(scores: Tensor, count: int) -> Tensor:
    """Return [..., V] with -inf outside the ``count`` best, ties to the lowest id."""
    last = scores.topk(count, -1).values[..., -1:]  # [..., 1]
    if kernels.serve(scores):
        kept = scores.reshape(-1, scores.shape[-1]).clone()  # [N, V]
        kernels.rows.keep_best(kept.numpy(), last.reshape(-1).numpy(), count)
        return kept.view_as(scores)
    above, tied = scores > last, scores == last
    room = count - above.sum(-1, keepdim=True)
    return torch.where(above | (tied & (tied.cumsum(-1) <= room)), scores, -torch.inf)


def _nucleus(probabilities: Tensor, mass: float) -> Tensor:
    """Keep the smallest set of most probable tokens that reaches ``mass``.

    Tokens that tie with the last one kept are kept too, so the set does not depend on
    the order in which a sort happens to leave equal values.
    """
    vocabulary = probabilities.shape[-1]
    if kernels.serve(probabilities):
        kept = probabilities.reshape(-1, vocabulary).clone()  # [N, V]
        kernels.rows.keep_nucleus(kept.numpy(), float(mass))
        return kept.view_as(probabilities)
    count = min(_NUCLEUS_GUESS, vocabulary)
    while True:
        best = probabilities.topk(count, -1).values  # [..., count], descending
        reached = best.cumsum(-1)
        if count == vocabulary or bool((reached[..., -1] >= mass).all()):
            break
        count = min(count * 8, vocabulary)
    # The first place where the mass is reached is the last token kept.
    last = (reached < mass).sum(-1, keepdim=True).clamp(max=count - 1)  # [..., 1]
    return torch.where(probabilities < best.gather(-1, last), 0, probabilities)


def fit_width(probabilities: Tensor, vocabulary: int) -> Tensor:
    """Return [..., V] rows cut or filled with zeros to ``vocabulary`` ids."""
    missing = vocabulary - probabilities.shape[-1]
    if missing <= 0:
        return probabilities[..., :vocabulary]
    return torch.nn.functional.pad(probabilities, (0, missing))


def spread(rows: Tensor, ids: Tensor, vocabulary: int, rest: float) -> Tensor:
    """Return [..., V]: [..., n] ``rows`` at ``ids`` [n], ``rest`` elsewhere."""
    wide = rows.new_full((*rows.shape[:-1], vocabulary), rest)
    wide[..., ids] = rows
    return wide
