"""Draws that share a random number."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from core.lab.mutants.mutant import mutant, needing_draft, replaced
from core.sampling import streams
from core.sampling.streams import Purpose


@contextlib.contextmanager
def _keys(change: Callable[[Purpose, Any], tuple[Purpose, Any]]) -> Iterator[None]:
    one, many = streams.stream_key, streams.stream_keys

    def wrong_one(seed, purpose, position):
        return one(seed, *change(purpose, position))

    def wrong_many(seed, purpose, position):
        return many(seed, *change(purpose, position))

    with (
        replaced(streams, "stream_key", wrong_one),
        replaced(streams, "stream_keys", wrong_many),
    ):
        yield


@needing_draft
def residual_reuses_draft_noise() -> Iterator[None]:
    """The correction is drawn with the noise that drew the proposal."""

    def change(purpose, position):
        other = Purpose.DRAFT if purpose is Purpose.RESIDUAL else purpose
        return other, position

    with _keys(change):
        yield


@mutant
def one_uniform_for_all_places() -> Iterator[None]:
    """All places are judged with the same u."""

    def change(purpose, position):
        return purpose, position * 0 if purpose is Purpose.ACCEPT else position

    with _keys(change):
        yield
