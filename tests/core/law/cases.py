"""The cases over which the law is summed."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from core.config import DecodingConfig
from core.lab.enumeration import Play, distance, output_law
from tests.core.law.reference import plain_law
from tests.core.tables import (
    CertainDrafter,
    NewDrafter,
    drafting,
    fixed_logits,
    looking_up,
    random_logits,
    start,
    table,
)

PROMPT = (0, 1, 0, 1)  # repeats, so that prompt lookup and n-gram bans have work

SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "cold": {"temperature": 0.5},
    "hot": {"temperature": 2.0},
    "greedy": {"temperature": 0.0},
    "top-k": {"top_k": 2},
    "top-p": {"top_p": 0.9},
    "min-p": {"min_p": 0.3},
    "repetition": {"repetition_penalty": 1.6},
    "presence": {"presence_penalty": 0.9},
    "frequency": {"frequency_penalty": 0.7},
    "n-gram": {"no_repeat_ngram": 2},
    "all": {
        "temperature": 0.8,
        "top_k": 3,
        "top_p": 0.95,
        "min_p": 0.05,
        "repetition_penalty": 1.2,
        "presence_penalty": 0.3,
        "frequency_penalty": -0.4,
        "no_repeat_ngram": 3,
    },
}
ENDINGS: dict[str, dict[str, Any]] = {
    "limit": {},
    "eos": {"eos_ids": (2,)},
    "eos ignored": {"eos_ids": (2,), "ignore_eos": True},
    "two eos": {"eos_ids": (1, 2)},
    "stop": {"stop": (" 1 2",)},
    "stops": {"stop": (" 0 1 1", "2"), "eos_ids": (0,)},
    "context": {"by_context": True},
}
DRAFTERS = ("model", "certain", "lookup", "narrow", "wide", "short")


Logits = Callable[[tuple[int, ...]], torch.Tensor]
DRAFT_SEED, TARGET_SEED = 5, 6


def _kept(width: int, seed: int, kept: Callable[[int], set[int]]) -> Logits:
    """Return random logits where only the ids in ``kept(sum of prefix)`` can come."""
    whole = random_logits(width, seed)

    def logits(prefix: tuple[int, ...]) -> torch.Tensor:
        row = whole(prefix).clone()
        row[sorted(set(range(width)) - kept(sum(prefix)))] = -torch.inf
        return row

    return logits


def _random(width: int, draft_width: int) -> tuple[Logits, Logits]:
    return random_logits(draft_width, DRAFT_SEED), random_logits(width, TARGET_SEED)


def _equal(width: int, draft_width: int) -> tuple[Logits, Logits]:
    target = random_logits(width, TARGET_SEED)
    more = (0, max(0, draft_width - width))
    pad = torch.nn.functional.pad
    return lambda p: pad(target(p)[:draft_width], more, value=0.3), target


def _disjoint(width: int, draft_width: int) -> tuple[Logits, Logits]:
    draft = _kept(draft_width, DRAFT_SEED, lambda n: set(range(1, draft_width)))
    return draft, _kept(width, TARGET_SEED, lambda n: {0})


def _draft_one_hot(width: int, draft_width: int) -> tuple[Logits, Logits]:
    draft = _kept(draft_width, DRAFT_SEED, lambda n: {n % 2})
    return draft, random_logits(width, TARGET_SEED)


def _target_one_hot(width: int, draft_width: int) -> tuple[Logits, Logits]:
    target = _kept(width, TARGET_SEED, lambda n: {n % width})
    return random_logits(draft_width, DRAFT_SEED), target


def _zeros(width: int, draft_width: int) -> tuple[Logits, Logits]:
    draft = _kept(draft_width, DRAFT_SEED, lambda n: set(range(draft_width)) - {n % 2})
    other = lambda n: set(range(width)) - {(n + 1) % width}  # noqa: E731
    return draft, _kept(width, TARGET_SEED, other)


def _near_ties(width: int, draft_width: int) -> tuple[Logits, Logits]:
    near = [0.3 + 1e-13 * (i % 2) for i in range(max(width, draft_width))]
    return fixed_logits(near[:draft_width]), fixed_logits([0.3 - 1e-13, *near[1:width]])


def _sparse(width: int, draft_width: int) -> tuple[Logits, Logits]:
    draft = _kept(draft_width, DRAFT_SEED, lambda n: {0, 1})
    return draft, _kept(width, TARGET_SEED, lambda n: {n % width, (n + 1) % width})


TABLES = {
    "random": _random,
    "equal": _equal,
    "disjoint": _disjoint,
    "draft one-hot": _draft_one_hot,
    "target one-hot": _target_one_hot,
    "zeros": _zeros,
    "near ties": _near_ties,
    "sparse": _sparse,
}


@dataclass(frozen=True)
class Case:
    """One run whose law is summed."""

    vocabulary: int
    lookahead: int
    tables: str
    settings: str
    drafter: str
    ending: str

    @property
    def config(self) -> DecodingConfig:
        ending = {k: v for k, v in ENDINGS[self.ending].items() if k != "eos_ids"}
        ending.pop("by_context", None)
        return DecodingConfig(
            **{
                "lookahead": self.lookahead,
                "max_new_tokens": self.lookahead + 2,
                "temperature": 1.0,
                **SETTINGS[self.settings],
                **ending,
            }
        )

    def logits(self) -> tuple[Any, Any]:
        widths = {"narrow": self.vocabulary - 1, "wide": self.vocabulary + 2}
        width = widths.get(self.drafter, self.vocabulary)
        return TABLES[self.tables](self.vocabulary, width)

    def new_drafter(self, draft: Any) -> NewDrafter:
        vocabulary = self.vocabulary
        if self.drafter == "lookup":
            return looking_up(vocabulary)
        if self.drafter in ("certain", "short"):
            most = 1 if self.drafter == "short" else 99
            return lambda capacity: CertainDrafter(
                lambda p: int(draft(p).argmax()) % vocabulary, vocabulary, most
            )
        return drafting(table(draft, vocabulary))

    def laws(self, play: Play | None = None) -> tuple[dict, dict]:
        """Return the law of the real rounds, and plain decoding's from the design.

        ``play`` plays a round; None for the one that is decided in Python.
        """
        draft, logits = self.logits()
        wider = lambda p: torch.nn.functional.pad(logits(p), (0, 2), value=9.0)  # noqa: E731
        target = table(wider, self.vocabulary)  # what lies beyond the tokenizer is cut
        ends = {
            k: v
            for k, v in ENDINGS[self.ending].items()
            if k in ("eos_ids", "by_context")
        }
        sequence = start(
            target, self.new_drafter(draft), self.config, prompt=PROMPT, **ends
        )
        expected = plain_law(
            lambda p: logits(p).tolist(), self.vocabulary, self.config,
            prompt=PROMPT, **ends,
        )  # fmt: skip
        return output_law(sequence, self.config, play=play), expected

    def error(self, play: Play | None = None) -> float:
        """Return how far the two laws are apart at the worst outcome."""
        law, expected = self.laws(play)
        assert abs(sum(law.values()) - 1) < 1e-12
        return distance({tuple(o): w for o, w in law.items()}, expected)


def covering(dimensions: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """Return rows that hold each pair of values of two dimensions at least once.

    Greedy and deterministic: each row starts from a pair not yet covered and takes, in
    every other dimension, the value that covers the most.
    """
    places = list(itertools.combinations(range(len(dimensions)), 2))
    missing = {
        (i, a, j, b) for i, j in places for a in dimensions[i] for b in dimensions[j]
    }
    order = sorted(missing, key=str)
    rows = []
    while missing:
        i, a, j, b = next(pair for pair in order if pair in missing)
        row = {i: a, j: b}
        for k, values in enumerate(dimensions):
            if k not in row:
                gains = [_gain(row, k, value, missing) for value in values]
                row[k] = values[gains.index(max(gains))]
        rows.append(tuple(row[k] for k in range(len(dimensions))))
        missing -= {(i, row[i], j, row[j]) for i, j in places}
    return rows


def _gain(row: dict[int, Any], place: int, value: Any, missing: set) -> int:
    pairs = [
        (i, a, place, value) if i < place else (place, value, i, a)
        for i, a in row.items()
    ]
    return sum(pair in missing for pair in pairs)
