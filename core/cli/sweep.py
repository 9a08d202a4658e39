"""``draftrace sweep``: the pair at every K and temperature, beside plain decoding."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from core.cli import CANCELLED, DONE, output
from core.cli.options import (
    add_decoding_options,
    add_pair_options,
    config_from,
    pair_from,
)
from core.cli.work import Progress, interruptible, load
from core.codec import encode
from core.config import DecodingConfig
from core.control import Control
from core.events import LoadProgress
from core.lab import paper_figure
from core.lab.figure_one import figure_curves
from core.lab.sweep_auto import auto_lines, auto_results
from core.lab.sweep_events import (
    ALL_KINDS,
    AUTO,
    FIGURE_TOKENS,
    GRID_KINDS,
    GRID_TOKENS,
    SweepCell,
    SweepEvent,
    SweepFinished,
    SweepPlan,
    SweepProgress,
    SweepStarted,
    lookahead_name,
)
from core.lab.sweep_export import cell_json, write_csv
from core.session import Session


def parser(name: str) -> argparse.ArgumentParser:
    """Return the command's options."""
    made = argparse.ArgumentParser(
        prog=f"draftrace {name}",
        description=__doc__,
        epilog="A sweep that was interrupted goes on where it ended: give it again.",
    )
    add_pair_options(made)
    add_decoding_options(made, lists=True)
    group = made.add_argument_group("sweep")
    group.add_argument(
        "--kinds", default=None, help=f"prompt kinds (default: {','.join(GRID_KINDS)})"
    )
    group.add_argument("--prompts", type=int, default=None, help="prompts of each kind")
    group.add_argument("--repeats", type=int, default=None, help="counted repeats")
    group.add_argument(
        "--figure-1", action="store_true", help="the paper's Figure 1 for this pair"
    )
    group.add_argument("--out", type=Path, metavar="FILE", help="keep the results here")
    group.add_argument(
        "--csv", type=Path, metavar="FILE", help="write the cells as CSV"
    )
    group.add_argument("--json", action="store_true", help="print one JSON object")
    made.set_defaults(max_new_tokens=None)
    return made


def main(options: argparse.Namespace) -> int:
    """Sweep, and print a map or one JSON object."""
    plan, session, watcher = plan_from(options), Session(), _Watcher()
    control = Control(plan.settings)
    with interruptible(control):
        load(session, pair_from(options), control, allow_download=options.demo)
        for event in session.sweep(plan, control, out=options.out):
            watcher.on_event(event)
    if watcher.started is None or watcher.finished is None:
        return CANCELLED
    if options.csv is not None:
        write_csv(watcher.finished.cells, options.csv)
    if options.json:
        output.print_json(result_json(watcher.started, watcher.finished))
    else:
        print("\n".join(_lines(watcher.started, watcher.finished)))
    return CANCELLED if watcher.finished.cancelled else DONE


def plan_from(options: argparse.Namespace) -> SweepPlan:
    """Return the grid that the options ask for.

    Raises:
        ConfigurationError: if a value is outside its limits.
    """
    settings = _settings(options)
    plan = SweepPlan.figure_1(settings) if options.figure_1 else SweepPlan()
    given: dict[str, Any] = {
        "lookaheads": options.k,
        "temperatures": options.temperature,
        "kinds": tuple(options.kinds.split(",")) if options.kinds else None,
        "prompts_per_kind": options.prompts,
        "repeats": options.repeats,
        "settings": settings,
    }
    return replace(plan, **{k: v for k, v in given.items() if v is not None})


def _settings(options: argparse.Namespace) -> DecodingConfig:
    """Return the settings beside the grid; Figure 1 has the paper's own."""
    figure = options.figure_1
    tokens = options.max_new_tokens
    if tokens is None:
        tokens = FIGURE_TOKENS if figure else GRID_TOKENS
    plain = argparse.Namespace(
        **{**vars(options), "k": None, "temperature": 0.0, "max_new_tokens": tokens}
    )
    settings = config_from(plain)
    if not figure:
        return settings
    first = (options.temperature or (0.8,))[0]
    top_p = 0.95 if settings.top_p == 1.0 else settings.top_p
    return replace(settings, temperature=first, top_p=top_p, ignore_eos=True)


class _Watcher:
    """Says on standard error how far the sweep is, and keeps both ends of it."""

    started: SweepStarted | None = None
    finished: SweepFinished | None = None

    def __init__(self) -> None:
        self._progress = Progress()

    def on_event(self, event: SweepEvent) -> None:
        match event:
            case SweepStarted():
                self.started = event
                print(
                    f"{event.total_runs} decodings, {event.done_runs} of them known "
                    f"from {event.file}",
                    file=sys.stderr,
                )
            case SweepProgress():
                self._progress.on_event(_as_progress(event))
            case SweepFinished():
                self._progress.clear()
                self.finished = event
            case LoadProgress():
                self._progress.on_event(event)
            case _:
                pass


def _as_progress(event: SweepProgress) -> LoadProgress:
    left = event.seconds_left
    remaining = "" if left is None else f"{left / 60:.0f} min left; "
    name = lookahead_name(event.lookahead)
    return LoadProgress(
        "Sweeping" if event.repeat else "Warming up",
        event.done_runs / event.total_runs,
        f"{remaining}{name}, T = {event.temperature:g}, {event.prompt_kind}",
    )


def result_json(started: SweepStarted, finished: SweepFinished) -> dict[str, Any]:
    """Return the sweep as DESIGN.md's keys and the rest."""
    curves = figure_curves(finished.cells, started.costs)
    return {
        "cells": [cell_json(cell) for cell in finished.cells],
        "best": cell_json(finished.best) if finished.best else None,
        "advice": finished.advice,
        "auto": [encode(result) for result in auto_results(finished.cells)],
        "cancelled": finished.cancelled,
        "figure_1": [encode(curve) for curve in curves],
        "paper": [
            {**encode(c), "ms_128": c.ms_128(), "share": c.share()}
            for c in paper_figure.CURVES
        ],
        "costs": encode(started.costs),
        "settings": encode(started.plan.settings),
        "target": encode(started.target),
        "draft": encode(started.draft) if started.draft else None,
        "machine": encode(started.machine),
        "file": started.file,
        "badge": "MEASURED",
    }


def _lines(started: SweepStarted, finished: SweepFinished) -> list[str]:
    plan = started.plan
    pooled = {
        (cell.lookahead, cell.temperature): cell
        for cell in finished.cells
        if cell.prompt_kind == ALL_KINDS
    }
    lines = ["speed-up over plain decoding (MEASURED; in brackets PREDICTED)"]
    names = ("auto" if k == AUTO else str(k) for k in plan.lookaheads)
    lines.append("T \\ K " + "".join(f"{name:>14}" for name in names))
    for temperature in plan.temperatures:
        row = (_figures(pooled[k, temperature]) for k in plan.lookaheads)
        lines.append(f"{temperature:<6g}" + "".join(f"{text:>14}" for text in row))
    said = [finished.advice, *auto_lines(finished.cells)]
    return [*lines, "", *filter(None, said)]


def _figures(cell: SweepCell) -> str:
    predicted = output.number(cell.predicted_speedup)
    return f"{output.number(cell.speedup)} ({predicted})"
