"""The library of prompts by kind of text."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache

import resources
from core.config import DrafterKind
from core.demo_pair import demo_pair

EMPTY_PROMPT = (
    "The prompt is empty (0 tokens); type a few words or choose a prompt from the "
    "library."
)


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt of the library.

    Attributes:
        kind: code, summary, prose, translation, maths or repetition.
        title: a few words.
        text: what is decoded.
        chat: made for the chat template.
    """

    kind: str
    title: str
    text: str
    chat: bool = True


@cache
def library() -> tuple[Prompt, ...]:
    """Return all prompts, in the order of the file."""
    entries = tomllib.loads(resources.text("presets/prompts.toml"))["prompt"]
    return tuple(Prompt(**entry) for entry in entries)


def start_prompt(drafter: DrafterKind | None = None) -> Prompt:
    """Return the prompt that a first race is run on.

    Args:
        drafter: prompt lookup shows what it can do on a text to copy, the demo's own
            draft on sums. None is what the demo pair drafts with.
    """
    drafter = drafter or demo_pair().drafter
    kind = "maths" if drafter is DrafterKind.CHECKPOINT else "repetition"
    return next(p for p in library() if p.kind == kind)
