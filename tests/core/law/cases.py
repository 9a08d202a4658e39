"""The cases over which the law is summed."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from core.config import DecodingConfig
from core.lab.enumeration import distance, output_law
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
    "top-p": {"top_p": 0.7},
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
TABLES = (
    "random",
    "equal",
    "disjoint",
    "draft one-hot",
    "target one-hot",
    "zeros",
    "near ties",
    "sparse",
)
DRAFTERS = ("model", "certain", "lookup", "narrow", "wide", "short")


def _masked(width: int, seed: int, zeros: Callable[[tuple[int, ...]], set[int]]):
    whole = random_logits(width, seed)

    def logits(prefix: tuple[int, ...]) -> torch.Tensor:
        row = whole(prefix).clone()
        row[list(zeros(prefix))] = -torch.inf
        return row

    return logits


def _pair(name: str, width: int, draft_width: int) -> tuple[Any, Any]:
    """Return the logits of draft and target by the name of the pair of tables."""
    everything = set(range(width))
    draft, target = random_logits(draft_width, 5), random_logits(width, 6)
    if name == "equal":
        target = random_logits(width, 5)
        draft = (
            lambda prefix: torch.nn.functional.pad(  # noqa: E731
                target(prefix)[:draft_width],
                (0, max(0, draft_width - width)),
                value=0.3,
            )
        )
    elif name == "disjoint":
        draft = _masked(draft_width, 5, lambda p: {0})
        target = _masked(width, 6, lambda p: everything - {0})
    elif name == "draft one-hot":
        draft = _masked(
            draft_width, 5, lambda p: set(range(draft_width)) - {sum(p) % 2}
        )
    elif name == "target one-hot":
        target = _masked(width, 6, lambda p: everything - {sum(p) % width})
    elif name == "zeros":
        draft = _masked(draft_width, 5, lambda p: {sum(p) % 2})
        target = _masked(width, 6, lambda p: {(sum(p) + 1) % width})
    elif name == "near ties":
        near = [0.3 + 1e-13 * (i % 2) for i in range(max(width, draft_width))]
        draft = fixed_logits(near[:draft_width])
        target = fixed_logits([0.3 - 1e-13, *near[1:width]])
    elif name == "sparse":
        draft = _masked(
            draft_width,
            5,
            lambda p: set(range(draft_width)) - {sum(p) % 2, (sum(p) + 1) % 2},
        )
        target = _masked(
            width, 6, lambda p: everything - {sum(p) % width, (sum(p) + 1) % width}
        )
    return draft, target


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
        return _pair(self.tables, self.vocabulary, width)

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

    def laws(self) -> tuple[dict, dict]:
        """Return the law of the real rounds, and plain decoding's from the design."""
        draft, logits = self.logits()
        # The target's rows are wider than the tokenizer; what lies beyond is masked.
        target = table(
            lambda p: torch.nn.functional.pad(logits(p), (0, 2), value=9.0),
            self.vocabulary,
        )
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
        return output_law(sequence, self.config), expected

    def error(self) -> float:
        """Return how far the two laws are apart at the worst outcome."""
        law, expected = self.laws()
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
