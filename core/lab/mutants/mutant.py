"""What a mutant is, and how one is made."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from core.config import DecodingConfig
from core.errors import ConfigurationError
from core.sampling import distributions


class Need(StrEnum):
    """What a mutant needs to show; the value reads well after *with*."""

    NOTHING = ""
    DRAFT_MODEL = "a draft model"
    PENALTY = "a penalty, such as a repetition penalty of 1.4,"


@dataclass(frozen=True, slots=True)
class Mutant:
    """A wrong variant.

    Attributes:
        name: for tables and options.
        mistake: what it does, in a few words.
        applied: replaces the right step for as long as it is entered.
        needs: without what it changes nothing.
    """

    name: str
    mistake: str
    applied: Callable[[], AbstractContextManager[None]]
    needs: Need = Need.NOTHING

    def require_applies(self, settings: DecodingConfig, *, drafted: bool) -> None:
        """Refuse where the mistake could not show, and so could not be noticed.

        Args:
            settings: of the run to break.
            drafted: whether the draft is a model, and no certain drafter.

        Raises:
            ConfigurationError: if what it needs is not there.
        """
        has = {
            Need.NOTHING: True,
            Need.DRAFT_MODEL: drafted,
            Need.PENALTY: distributions.has_penalties(settings),
        }
        if not has[self.needs]:
            raise ConfigurationError(
                f"The mistake {self.name!r} shows with {self.needs} only; choose one."
            )


def mutant(make: Callable[[], Iterator[None]], needs: Need = Need.NOTHING) -> Mutant:
    """Make a mutant of what applies it: its name, and its docstring for the mistake."""
    mistake = (make.__doc__ or "").rstrip(".")
    return Mutant(make.__name__, mistake, contextlib.contextmanager(make), needs)


needing_draft = functools.partial(mutant, needs=Need.DRAFT_MODEL)
needing_penalty = functools.partial(mutant, needs=Need.PENALTY)


@contextlib.contextmanager
def replaced(owner: Any, name: str, wrong: Any) -> Iterator[None]:
    """Put ``wrong`` into the place of an attribute for as long as it is entered."""
    right = getattr(owner, name)
    setattr(owner, name, wrong)
    try:
        yield
    finally:
        setattr(owner, name, right)
