"""What the target is asked, so that its answers can teach a small draft.

The library is composed: hand-written templates meet subjects (or short passages), kind
by kind (``resources/presets/distillation.toml``). The same seed gives the same prompts
in the same order, and any number of the first ones holds every kind equally often.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain
from random import Random
from typing import Any

import resources

HELD_OUT_SHARE = 0.03
RAW_SHARE = 0.15
_NUMBERS = {"small": (2, 9), "teen": (11, 19), "number": (20, 99), "large": (120, 999)}
_SLOT = re.compile(r"\{(small|teen|number|large)\d?\}")


@dataclass(frozen=True, slots=True)
class TrainingPrompt:
    """One text that the target continues.

    Attributes:
        kind: code, explanation, story, list, dialogue, summary, maths, translation,
            repetition; ``user`` for those of a file.
        text: what the target is given.
        chat: it goes through the chat template; otherwise it is continued as it is.
        held_out: kept for judging; never trained on.
    """

    kind: str
    text: str
    chat: bool
    held_out: bool


@cache
def training_prompts(seed: int = 0) -> tuple[TrainingPrompt, ...]:
    """Return the library, shuffled; any number of the first ones is balanced by kind.

    A subject or passage is held out as a whole: within a kind, no prompt to train on
    shares it with one that is held out.
    """
    kinds, passages = _library()
    pools = [_pool(kind, kinds[kind], passages, seed) for kind in kinds]
    longest = min(len(pool) for pool in pools)
    rows = zip(*(pool[:longest] for pool in pools), strict=True)
    return tuple(chain.from_iterable(_shuffled(r, seed, i) for i, r in enumerate(rows)))


def held_out_subjects(kind: str, seed: int = 0) -> frozenset[str]:
    """Return the subjects and passages of ``kind`` that are kept for judging."""
    kinds, passages = _library()
    return _held_out(_subjects(kinds[kind], passages), seed)


@cache
def _library() -> tuple[dict[str, dict[str, Any]], tuple[str, ...]]:
    found = tomllib.loads(resources.text("presets/distillation.toml"))
    passages = tuple(entry["text"] for entry in found.pop("passage"))
    return found, passages


def _subjects(entry: dict[str, Any], passages: tuple[str, ...]) -> tuple[str, ...]:
    return (*entry["subjects"], *(passages if entry.get("passages") else ()))


def _held_out(subjects: tuple[str, ...], seed: int) -> frozenset[str]:
    # Two at least: one unlucky subject would decide what a whole kind is judged by.
    count = max(2, round(HELD_OUT_SHARE * len(subjects)))
    return frozenset(Random(f"held out:{seed}").sample(sorted(subjects), count))


def _pool(
    kind: str, entry: dict[str, Any], passages: tuple[str, ...], seed: int
) -> list[TrainingPrompt]:
    """Return the prompts of one kind, raw and held-out ones spread evenly."""
    subjects = _subjects(entry, passages)
    held_out = _held_out(subjects, seed)
    random = Random(f"{kind}:{seed}")
    chat = _composed(kind, entry["chat"], subjects, held_out, seed, chat=True)
    raw = _composed(kind, entry["raw"], subjects, held_out, seed, chat=False)
    raw += [
        TrainingPrompt(kind, text, False, False) for text in entry.get("starts", ())
    ]
    random.shuffle(chat)
    random.shuffle(raw)
    return list({prompt.text: prompt for prompt in _mixed(chat, raw)}.values())


def _composed(
    kind: str,
    templates: list[str],
    subjects: tuple[str, ...],
    held_out: frozenset[str],
    seed: int,
    *,
    chat: bool,
) -> list[TrainingPrompt]:
    return [
        TrainingPrompt(
            kind, _filled(template, subject, seed), chat, subject in held_out
        )
        for template in templates
        for subject in subjects
    ]


def _filled(template: str, subject: str, seed: int) -> str:
    random = Random(f"{seed}:{template}:{subject}")
    found = _SLOT.sub(lambda slot: str(random.randint(*_NUMBERS[slot[1]])), template)
    return found.replace("{subject}", subject)


def _mixed(
    chat: list[TrainingPrompt], raw: list[TrainingPrompt]
) -> Iterator[TrainingPrompt]:
    """Yield both in their shares until one of the two is used up."""
    owed, chats, raws = 0.0, iter(chat), iter(raw)
    while True:
        owed += RAW_SHARE
        found = next(raws if owed >= 1 else chats, None)
        if found is None:
            return
        owed -= owed >= 1
        yield found


def _shuffled(
    row: tuple[TrainingPrompt, ...], seed: int, index: int
) -> list[TrainingPrompt]:
    return Random(f"row:{seed}:{index}").sample(row, len(row))
