"""Benches in their turn at the device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from core.config import DecodingConfig, ModelConfig
from core.control import Control
from core.events import LoadProgress
from core.runtime.device_lock import DEVICE_LOCK
from core.runtime.heap import libraries_spared

if TYPE_CHECKING:
    from core.lab.bench import BenchResult
    from core.loaded_pair import LoadedPair

    Benched = Iterator[LoadProgress | BenchResult]


def bench_pair(
    pair: LoadedPair,
    settings: DecodingConfig,
    control: Control,
    *,
    kind: str | None = None,
    repeats: int = 5,
) -> Benched:
    """Measure steps, rounds and rates of a loaded pair beside transformers'.

    Args:
        pair: what to measure.
        settings: of all decodings.
        control: stops it.
        kind: prompts of this kind only.
        repeats: counted repeats.

    Raises:
        CoreError: if nothing drafts, or there are no prompts of that kind.
    """
    pair.require_drafter("A bench")

    def events() -> Benched:
        yield LoadProgress("Measuring memory")
        from core.lab.bench_setup import new_bench

        bench = new_bench(
            pair.config,
            pair.target,
            pair.draft,
            pair.drafter_over,
            settings,
            kind=kind,
            repeats=repeats,
            should_stop=control.should_stop,
            libraries_bytes=pair.libraries_bytes,
        )
        with libraries_spared():
            yield from bench.events()

    yield from DEVICE_LOCK.in_turn("a bench", control.should_stop, events)


def bench_random(
    shapes: tuple[str, str],
    model: ModelConfig,
    settings: DecodingConfig,
    control: Control,
    *,
    repeats: int = 5,
) -> Benched:
    """Measure a pair of real shapes with random weights; see :func:`bench_pair`.

    Args:
        shapes: of target and draft, as ``core.lab.random_models`` names them.
        model: device and dtype of both.
        settings: of all decodings.
        control: stops it.
        repeats: counted repeats.

    Raises:
        CoreError: for a shape, device or dtype that is not there, or no room.
    """

    def events() -> Benched:
        yield LoadProgress("Making random weights")
        from core.lab.bench_setup import random_bench
        from core.loaded_pair import how_steps_run

        stop = control.should_stop
        bench = random_bench(
            *shapes, model, settings, repeats=repeats, should_stop=stop
        )
        for note in how_steps_run(bench.target, bench.draft):
            yield LoadProgress(note)
        with libraries_spared():
            yield from bench.events()

    yield from DEVICE_LOCK.in_turn("a bench", control.should_stop, events)
