"""``draftrace bench``: step costs, and our runtime beside transformers' own."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from core.checkpoints.progress import megabytes
from core.cli import CANCELLED, DONE, output
from core.cli.options import (
    add_decoding_options,
    add_pair_options,
    config_from,
    pair_from,
)
from core.cli.work import interruptible, load
from core.config import DecodingConfig, ModelConfig
from core.control import Control
from core.errors import ConfigurationError
from core.events import LoadProgress
from core.lab.benches import bench_pair, bench_random
from core.session import Session

if TYPE_CHECKING:
    from core.lab.bench import BenchResult

MAX_REPEATS = 100


def parser(name: str) -> argparse.ArgumentParser:
    """Return the command's options."""
    made = argparse.ArgumentParser(prog=f"draftrace {name}", description=__doc__)
    add_pair_options(made)
    add_decoding_options(made)
    made.add_argument("--kind", help="prompts of this kind only, such as repetition")
    made.add_argument(
        "--random",
        nargs=2,
        metavar=("TARGET", "DRAFT"),
        help="shapes with random weights in place of a pair, such as 8b 1b; "
        "with --device cuda not run by anybody yet",
    )
    made.add_argument("--repeats", type=int, default=5, help="counted repeats (1-100)")
    made.add_argument("--json", action="store_true", help="print one JSON object")
    return made


def main(options: argparse.Namespace) -> int:
    """Bench, and print a table or one JSON object."""
    if not 1 <= options.repeats <= MAX_REPEATS:
        raise ConfigurationError(
            f"--repeats is {options.repeats}; choose 1 to {MAX_REPEATS}."
        )
    settings, found = config_from(options), None
    control = Control(settings)
    with interruptible(control):
        for event in _events(options, settings, control):
            if isinstance(event, LoadProgress):
                print(event.stage, file=sys.stderr)
            else:
                found = event
    if found is None:
        return CANCELLED
    from core.lab.bench import as_json

    facts = as_json(found)
    if options.json:
        output.print_json(facts)
    else:
        print("\n".join(_lines(facts)))
    return DONE


def _events(
    options: argparse.Namespace, settings: DecodingConfig, control: Control
) -> Iterator[LoadProgress | BenchResult]:
    session, repeats = Session(), options.repeats
    if options.random:
        model = ModelConfig("random", options.device, options.dtype)
        shapes = tuple(options.random)
        return bench_random(shapes, model, settings, control, repeats=repeats)
    load(session, pair_from(options), control, allow_download=options.demo)
    pair, kind = session.loaded(), options.kind
    return bench_pair(pair, settings, control, kind=kind, repeats=repeats)


def _lines(facts: dict[str, Any]) -> list[str]:
    target, draft = facts["step_ms"]["target"], facts["step_ms"]["draft"]
    lines = [
        f"memory {facts['bandwidth_bytes_per_s'] / 1e9:.1f} GB/s, so a step of the "
        f"target takes {facts['floor_ms']:.1f} ms or more",
        "step of the target in ms by rows: "
        + ", ".join(f"{n}: {ms:.1f}" for n, ms in target.items()),
    ]
    if after := facts["step_ms_long"]["context"]:
        long = facts["step_ms_long"]["target"]
        steps = ", ".join(f"{n}: {ms:.1f}" for n, ms in long.items())
        lines.append(f"the same after {after:,} tokens of context: {steps}")
    lines.append(
        f"a step is {output.number(facts['step_over_floor'])} times that floor, five "
        f"rows cost {output.number(facts['five_rows_over_one'])} times one"
    )
    if draft:
        steps = ", ".join(f"{n}: {ms:.1f}" for n, ms in draft.items())
        lines.append(f"step of the draft in ms by rows: {steps}")
    if in_round := facts["step_ms"]["draft_in_round"]:
        steps = ", ".join(f"{ms:.1f}" for ms in in_round)
        lines.append(f"the draft's steps of a round, one by one: {steps}")
    lines.append(f"round overhead {facts['round_overhead']:.1%} of its passes")
    if memory := facts["memory"]:
        lines.append(memory_line(memory))
    if (reads := facts["host_reads_per_round"]) is not None:
        lines.append(f"a round waits for the GPU {reads:.2f} times")
    for name, (low, high) in facts["spread"].items():
        side, _, way = name.partition(" ")
        rate = facts[side][way]
        lines.append(f"{name:<26}{rate:7.1f} tokens/s ({low:.1f} to {high:.1f})")
    return [
        *lines,
        f"speed-up PREDICTED {output.number(facts['predicted_speedup'])} from "
        f"{facts['prompts']['others']} other prompts, MEASURED "
        f"{output.number(facts['measured_speedup'])}, the mean over "
        f"{facts['prompts']['ours']} prompts (median of {facts['repeats']} repeats)",
        f"all contenders emitted the same tokens on {facts['same_tokens']:.0%} of the "
        "prompts",
    ]


def memory_line(memory: dict[str, Any]) -> str:
    """Return what the pair takes, in words."""
    peak, libraries, weights, caches = (
        megabytes(memory[f"{part}_bytes"])
        for part in ("peak", "libraries", "weights", "cache")
    )
    return (
        f"memory at its peak {peak}, libraries {libraries}; the rest is "
        f"{output.number(memory['over_needs'])} times weights ({weights}) and caches "
        f"({caches})"
    )
