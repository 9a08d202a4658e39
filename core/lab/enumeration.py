"""The exact law of the output: every outcome of every draw, weighted and summed.

:class:`BranchingDraws` answers a round's questions to chance with one outcome after the
other and remembers its probability. The real round (``core.decoding.speculative``) runs
under it, end conditions included, so what is summed is the program and no model of it.
No random number is drawn; in float64 the law is exact to rounding.
"""

from __future__ import annotations

import collections.abc
import copy
from collections.abc import Callable, Hashable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from core.config import DecodingConfig
from core.decoding import speculative
from core.decoding.speculative import Round, Sequence
from core.events import StopReason
from core.sampling.draws import Choice
from core.sampling.streams import Purpose

Floats = collections.abc.Sequence[float]
Play = Callable[[Sequence, DecodingConfig, "BranchingDraws"], Round]


class Outcome(NamedTuple):
    """How a run can end.

    Attributes:
        tokens: the emitted ids.
        text: its text.
        reason: why it ended.
    """

    tokens: tuple[int, ...]
    text: str
    reason: StopReason


class BranchingDraws:
    """One path through every draw of a round; the next path is one call away.

    Attributes:
        weight: the probability of the path so far.
    """

    def __init__(self) -> None:
        self._path: list[int] = []
        self._branches: list[int] = []
        self._depth = 0
        self.weight = 1.0

    def choose(self, purpose: Purpose, position: int, weights: Tensor) -> Choice:
        """Take the path's token and multiply its share of ``weights`` in."""
        shares = weights.tolist()
        total = sum(shares)
        token_ids = [i for i, share in enumerate(shares) if share > 0]
        token_id = token_ids[self._take(len(token_ids))]
        self.weight *= shares[token_id] / total
        return Choice(token_id, 0.0)

    def survivors(
        self, position: int, draft: Floats, target: Floats
    ) -> tuple[int, tuple[float, ...]]:
        """Take the path's number of survivors and multiply its probability in.

        The measure of u in [0, 1) with u * draft < target is min(1, target / draft).
        """
        chances = [_chance(d, t) for d, t in zip(draft, target, strict=True)]
        laws, before = [], 1.0
        for chance in chances:
            laws.append(before * (1 - chance))
            before *= chance
        laws.append(before)
        counts = [n for n, law in enumerate(laws) if law > 0]
        survivors = counts[self._take(len(counts))]
        self.weight *= laws[survivors]
        return survivors, (0.0,) * min(survivors + 1, len(chances))

    def _take(self, branches: int) -> int:
        if self._depth == len(self._path):
            self._path.append(0)
            self._branches.append(branches)
        assert self._branches[self._depth] == branches, "a replayed path forked"
        self._depth += 1
        return self._path[self._depth - 1]

    def advance(self) -> bool:
        """Turn to the next path; False when all were taken."""
        self._depth, self.weight = 0, 1.0
        while self._path and self._path[-1] + 1 == self._branches[-1]:
            self._path.pop()
            self._branches.pop()
        if self._path:
            self._path[-1] += 1
        return bool(self._path)


def _chance(draft: float, target: float) -> float:
    return min(1.0, target / draft) if draft > 0 else float(target > 0)


def round_outcomes(
    sequence: Sequence, settings: DecodingConfig, play: Play | None = None
) -> Iterator[tuple[Sequence, Round, float]]:
    """Yield each outcome of one round: the sequence after it, the round, its weight."""
    draws, going = BranchingDraws(), True
    while going:
        after = copy.deepcopy(sequence)
        played = (play or speculative.play_round)(after, settings, draws)
        yield after, played, draws.weight
        going = draws.advance()


def _state(sequence: Sequence) -> Hashable:
    """Return all that later rounds depend on, so that equal states can be merged."""
    return (
        tuple(sequence.ids),
        _held(sequence.target),
        _held(getattr(sequence.drafter, "_runner", None)),
        sequence.auto.state if sequence.auto else None,
    )


def _held(runner: object) -> tuple[int, ...] | None:
    held = getattr(runner, "held", None)
    return None if held is None else tuple(held)


def check_round_start(sequence: Sequence) -> None:
    """Assert what holds when a round starts.

    The target's cache holds all committed tokens but the last; the draft's holds a
    beginning of them.

    Raises:
        AssertionError: if a cache holds anything else.
    """
    seen = tuple(sequence.ids[:-1])
    held = _held(sequence.target)
    assert held is None or held == seen, f"the target holds {held}, not {seen}"
    held = _held(getattr(sequence.drafter, "_runner", None))
    assert held is None or held == seen[: len(held)], f"the draft holds {held}"


@torch.inference_mode()
def output_law(
    sequence: Sequence,
    settings: DecodingConfig | Callable[[int], DecodingConfig],
    on_round: Callable[[Sequence, Round, Sequence], None] | None = None,
    play: Play | None = None,
) -> dict[Outcome, float]:
    """Return the probability of each output of a whole run.

    Args:
        sequence: after the prefill; it is not changed.
        settings: of every round, or by the position that a round starts at.
        on_round: sees each round with the sequence before and after it.
        play: plays a round; None for ``speculative.play_round``.

    Returns:
        Probability by outcome; sums to 1.

    Raises:
        AssertionError: if a cache does not hold what it must at the start of a round.
    """
    wanted = settings if callable(settings) else lambda position: settings
    law: dict[Outcome, float] = {}
    open_states = {_state(sequence): (sequence, 1.0)}
    while open_states:
        later: dict[Hashable, tuple[Sequence, float]] = {}
        for before, weight in open_states.values():
            check_round_start(before)
            held = wanted(before.prefix.position)
            for after, played, share in round_outcomes(before, held, play):
                if on_round is not None:
                    on_round(before, played, after)
                _add(after, weight * share, law, later)
        open_states = later
    return law


def _add(
    sequence: Sequence,
    weight: float,
    law: dict[Outcome, float],
    later: dict[Hashable, tuple[Sequence, float]],
) -> None:
    """Add a finished sequence to the law, another one to the states still open."""
    ending = sequence.ending
    if ending.reason is None:
        key = _state(sequence)
        later[key] = (sequence, later.get(key, (sequence, 0.0))[1] + weight)
        return
    tokens = tuple(sequence.ids[sequence.prompt_length :])
    outcome = Outcome(tokens, ending.text, ending.reason)
    law[outcome] = law.get(outcome, 0.0) + weight


def distance(law: dict, other: dict) -> float:
    """Return the largest difference of two laws at any one outcome."""
    outcomes = law.keys() | other.keys()
    return max(abs(law.get(o, 0.0) - other.get(o, 0.0)) for o in outcomes)


def total_variation(law: dict, other: dict) -> float:
    """Return half the summed difference of two laws: 0 equal, 1 disjoint."""
    outcomes = law.keys() | other.keys()
    return sum(abs(law.get(o, 0.0) - other.get(o, 0.0)) for o in outcomes) / 2
