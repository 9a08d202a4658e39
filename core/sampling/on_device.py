"""Warping and drawing without a word back to Python.

Every answer stays a tensor, so that a round's work can be queued while the device still
computes. The numbers are those of ``distributions`` and ``draws``: same seed, same
tokens.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from core.config import DecodingConfig
from core.sampling import acceptance, distributions, streams
from core.sampling.draws import Draws, KeyedDraws, exponential_race
from core.sampling.streams import Purpose


def warp(logits: Tensor, settings: DecodingConfig) -> Tensor:
    """Return the distribution after temperature, top-k, top-p and min-p.

    As :func:`core.sampling.distributions.warp`, whose nucleus looks at the first few
    tokens to see whether they suffice; here a full sort needs no look.

    Args:
        logits: [..., V] scores, any float dtype.
        settings: temperature 0 puts all mass on the best token, ties to the lowest id.

    Returns:
        [..., V] probabilities, float32 (float64 for float64 logits), summing to 1.
    """
    if settings.temperature == 0:
        # A row of NaN has no best token; that it is one is noticed at the end of the
        # round, and an id out of range would end the process before.
        best = distributions.best_token(logits).clamp(max=logits.shape[-1] - 1)
        wide = torch.float64 if logits.dtype == torch.float64 else torch.float32
        return distributions.one_hot(best, logits.shape[-1], wide)
    if settings.top_p >= 1 and settings.min_p == 0:
        return distributions.warp(logits, settings)
    whole = dataclasses.replace(settings, top_p=1.0, min_p=0.0)
    probabilities = distributions.warp(logits, whole)
    if settings.top_p < 1:
        probabilities = _nucleus(probabilities, settings.top_p)
    if settings.min_p > 0:
        floor = settings.min_p * probabilities.amax(-1, keepdim=True)
        probabilities = probabilities.masked_fill(probabilities < floor, 0)
    return probabilities / probabilities.sum(-1, keepdim=True)


def _nucleus(probabilities: Tensor, mass: float) -> Tensor:
    """Keep the smallest set that reaches ``mass``, and what ties with its last."""
    best = probabilities.sort(-1, descending=True).values  # [..., V]
    reached = best.double().cumsum(-1)
    last = (reached < mass).sum(-1, keepdim=True).clamp(max=best.shape[-1] - 1)
    return probabilities.masked_fill(probabilities < best.gather(-1, last), 0)


MAX_PLACES = 16
KEYS_SENT = 256  # positions whose keys are made in one go


class Drawn(NamedTuple):
    """Drawn tokens.

    Attributes:
        ids: [n] int64.
        margins: [n] float64; how far each one's log-weight plus noise lies before the
            second best.
    """

    ids: Tensor
    margins: Tensor


class DeviceDraws(Protocol):
    """What a round on a device may ask of chance; compare ``draws.Draws``."""

    @property
    def on_host(self) -> Draws:
        """The same chance, for a drafter that works in Python."""
        ...

    def choose(self, purpose: Purpose, position: int, weights: Tensor) -> Drawn:
        """Draw a token from each row.

        Args:
            purpose: the stream.
            position: index of the first row's output token; the others follow it.
            weights: [n, V], 0 or above, not necessarily summing to 1.
        """
        ...

    def correct(
        self, position: int, place: Tensor, is_bonus: Tensor, weights: Tensor
    ) -> Drawn:
        """Draw the token after the survivors: the correction, or the bonus token.

        Args:
            position: index of the first proposed token.
            place: [1] int64, how many survived.
            is_bonus: [1] bool, all survived, so the target's own stream draws.
            weights: [1, V], of the residual or the target.
        """
        ...

    def survivors(
        self, position: int, draft: Tensor, target: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Judge the proposals for output ``position`` and after it.

        Args:
            position: index of the first proposed token.
            draft: [K] draft probability of each proposed token.
            target: [K] target probability of each proposed token.

        Returns:
            [1] int64 how many survive, and [K] the u of each place.
        """
        ...


class KeyedDeviceDraws:
    """Chance as a pure function of seed, purpose, position and token id.

    Keys follow from positions, which Python knows long before, so a few hundred of them
    are sent at once; the numbers of each token are made of them on the device.

    Args:
        seed: of the run.
        device: where the weights lie.
    """

    def __init__(self, seed: int, device: str | torch.device) -> None:
        self._seed, self._device = seed, torch.device(device)
        self._on_host = KeyedDraws(seed)

    @property
    def on_host(self) -> Draws:
        """The same chance in Python."""
        return self._on_host

    def keys(self, purpose: Purpose, position: int, count: int) -> Tensor:
        """Return the [count] int64 keys of ``position`` and those after it."""
        first = position - position % KEYS_SENT
        table = _key_table(self._seed, first, self._device)  # [purposes, positions]
        return table[purpose - 1, position - first : position - first + count]

    def choose(self, purpose: Purpose, position: int, weights: Tensor) -> Drawn:
        """Draw by the exponential race, all rows at once."""
        keys = self.keys(purpose, position, len(weights))
        return Drawn(*exponential_race(weights, keys))

    def correct(
        self, position: int, place: Tensor, is_bonus: Tensor, weights: Tensor
    ) -> Drawn:
        """Draw with the residual's stream, or the target's where it is a bonus."""
        count = 1 + MAX_PLACES
        residual = self.keys(Purpose.RESIDUAL, position, count)[place]
        target = self.keys(Purpose.TARGET, position, count)[place]
        return Drawn(*exponential_race(weights, target.where(is_bonus, residual)))

    def survivors(
        self, position: int, draft: Tensor, target: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Accept place by place while u * draft < target."""
        numbers = streams.uniforms(self.keys(Purpose.ACCEPT, position, len(draft)))
        accepted = acceptance.accepts(numbers, draft.double(), target.double())
        return acceptance.surviving_places(accepted)[None], numbers


@functools.lru_cache(maxsize=8)
def _key_table(seed: int, first: int, device: torch.device) -> Tensor:
    """Return the keys of all purposes from position ``first`` on."""
    count = KEYS_SENT + MAX_PLACES + 1  # a round may begin at the last one
    keys = [
        streams.signed_key(streams.stream_key(seed, purpose, first + i))
        for purpose in Purpose
        for i in range(count)
    ]
    return send(keys, device).view(len(Purpose), count)


def send(numbers: list[int], device: torch.device) -> Tensor:
    """Return [n] int64 on ``device``; the copy waits for nothing and nobody for it."""
    pinned = device.type == "cuda"
    sent = torch.tensor(numbers, dtype=torch.long, pin_memory=pinned)
    return sent.to(device, non_blocking=True)
