"""Wrong ways to judge a proposal, and to mend a refusal."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from core.lab import enumeration
from core.lab.mutants.mutant import mutant, needing_draft, replaced
from core.sampling import acceptance, draws
from core.sampling.draws import KeyedDraws


@contextlib.contextmanager
def _rule(chance: Callable[[Any, Any], Any]) -> Iterator[None]:
    """Accept with ``chance(draft, target)`` in each of the rule's three forms."""

    def survivors(self, position, draft, target):
        chances = [float(chance(d, t)) for d, t in zip(draft, target, strict=True)]
        return right(self, position, [1.0] * len(chances), chances)

    right = KeyedDraws.survivors
    with (
        replaced(KeyedDraws, "survivors", survivors),
        replaced(draws, "accepts", lambda u, d, t: u < chance(d, t)),
        replaced(enumeration, "_chance", lambda d, t: float(chance(d, t))),
    ):
        yield


@mutant
def always_accept() -> Iterator[None]:
    """Every proposal is accepted."""
    with _rule(lambda d, t: d * 0 + 1.0):
        yield


@mutant
def ratio_upside_down() -> Iterator[None]:
    """Accepted with draft / target instead of target / draft."""

    def chance(d, t):
        if isinstance(d, Tensor):
            return (d / t.clamp(min=1e-30)).clamp(max=1)
        return min(1.0, d / t) if t > 0 else 1.0

    with _rule(chance):
        yield


@needing_draft
def ratio_without_draft() -> Iterator[None]:
    """Accepted with the target's probability, as if the draft were certain."""
    with _rule(lambda d, t: t):
        yield


def _residual(wrong: Callable[[Tensor, Tensor], Tensor]) -> Any:
    changed = lambda draft, target, memory=None: wrong(draft, target)  # noqa: E731
    return replaced(acceptance, "residual_distribution", changed)


def _normalised(weights: Tensor, fallback: Tensor) -> Tensor:
    mass = weights.sum(-1, keepdim=True)
    return torch.where(mass > 0, weights / mass.clamp(min=1e-30), fallback)


@mutant
def correction_from_target() -> Iterator[None]:
    """The correction is drawn from the target."""
    with _residual(lambda draft, target: target):
        yield


@mutant
def residual_absolute() -> Iterator[None]:
    """The correction is drawn from |target - draft|."""
    with _residual(lambda d, t: _normalised((t - d).abs(), t)):
        yield


@mutant
def residual_of_draft() -> Iterator[None]:
    """The correction is drawn from (draft - target)+."""
    with _residual(lambda d, t: _normalised((d - t).clamp(min=0), t)):
        yield
