"""The one place where chance enters a round.

A round asks two things only: how many proposals survive, and which token comes out of
some weights. :class:`KeyedDraws` answers with keyed random numbers. The enumerator of
the tests answers by branching over every outcome, so the real round runs under it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from core.sampling import kernels, streams
from core.sampling.acceptance import accepts, surviving_places
from core.sampling.streams import Purpose


class Choice(NamedTuple):
    """A drawn token.

    Attributes:
        token_id: the token.
        margin: how far its log-weight plus noise lies before the second best;
            infinite when nothing else could have been drawn.
    """

    token_id: int
    margin: float


class Draws(Protocol):
    """What a round may ask of chance."""

    def choose(self, purpose: Purpose, position: int, weights: Tensor) -> Choice:
        """Draw one token for output ``position`` from ``weights``.

        Args:
            purpose: the stream.
            position: index of the output token.
            weights: [V], 0 or above, not necessarily summing to 1.
        """
        ...

    def survivors(
        self, position: int, draft: Sequence[float], target: Sequence[float]
    ) -> tuple[int, tuple[float, ...]]:
        """Judge the proposals for output ``position`` and after it.

        Args:
            position: index of the first proposed token.
            draft: draft probability of each proposed token.
            target: target probability of each proposed token.

        Returns:
            How many survive, and the u of each judged place.
        """
        ...


class KeyedDraws:
    """Chance as a pure function of seed, purpose, position and token id."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def choose(self, purpose: Purpose, position: int, weights: Tensor) -> Choice:
        """Draw by the exponential race: the smallest exponential / weight wins.

        The same as the arg-max of log-weight plus Gumbel noise (Maddison et al. 2014,
        arXiv:1411.0030), and it needs no normalisation.
        """
        key = streams.stream_key(self._seed, purpose, position)
        if weights.device.type == "cpu" and kernels.AVAILABLE:
            return Choice(*kernels.draws.race(weights.numpy(), streams.signed_key(key)))
        keys = torch.tensor(streams.signed_key(key), device=weights.device)
        best, margin = exponential_race(weights, keys)
        return Choice(int(best), float(margin))

    def survivors(
        self, position: int, draft: Sequence[float], target: Sequence[float]
    ) -> tuple[int, tuple[float, ...]]:
        """Accept place by place while u * draft < target; draw no u after a refusal."""
        numbers: list[float] = []
        for place, (d, t) in enumerate(zip(draft, target, strict=True)):
            key = streams.stream_key(self._seed, Purpose.ACCEPT, position + place)
            numbers.append(streams.uniform(key))
            if not numbers[-1] * d < t:
                return place, tuple(numbers)
        return len(numbers), tuple(numbers)


def exponential_race(weights: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
    """Draw one token from each row of weights.

    Args:
        weights: [..., V], 0 or above, each row with a positive entry.
        keys: [...] int64 stream keys.

    Returns:
        [...] int64 token ids and [...] float64 margins in log units.
    """
    noise = streams.token_exponentials(keys, weights.shape[-1])  # [..., V]
    arrival = noise / weights.double()  # infinite where the weight is 0
    arrival = arrival.masked_fill(weights <= 0, math.inf)
    two = arrival.topk(min(2, arrival.shape[-1]), -1, largest=False)  # [..., 2]
    second = two.values[..., -1] if two.values.shape[-1] > 1 else math.inf
    return two.indices[..., 0], (second / two.values[..., 0]).log()


def judge(draft: Tensor, target: Tensor, keys: Tensor) -> Tensor:
    """Return how many proposals survive, for a whole batch.

    Args:
        draft: [..., K] draft probability of each proposed token.
        target: [..., K] target probability of each proposed token.
        keys: [..., K] int64 keys of the accept stream.

    Returns:
        [...] int64, 0 to K.
    """
    return surviving_places(accepts(streams.uniforms(keys), draft, target))
