"""``draftrace distill``: train a small draft for a target."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

from core.cli import CANCELLED, DONE, output
from core.cli.work import Progress, interruptible
from core.codec import encode
from core.config import ModelConfig
from core.control import Control
from core.distillation import words
from core.distillation.plan import (
    SIZES,
    DistillFinished,
    DistillPlan,
    DistillProgress,
)
from core.events import LoadProgress
from core.session import Session

_SAY_EVERY_S = 20.0  # where a line cannot be written over


def parser(name: str) -> argparse.ArgumentParser:
    """Return the command's options."""
    made = argparse.ArgumentParser(prog=f"draftrace {name}", description=__doc__)
    made.add_argument("target", help="folder, GGUF file, hub id or demo")
    made.add_argument("--out", required=True, help="the folder that becomes the draft")
    made.add_argument(
        "--size", default=SIZES[0], help=f"{', '.join(SIZES)} or a config.json"
    )
    made.add_argument(
        "--prompts", default="", help="a text or .jsonl file; default: our library"
    )
    made.add_argument(
        "--minutes", type=float, default=60.0, help="to collect and train (60)"
    )
    made.add_argument(
        "--resume", action="store_true", help="go on with what is in the folder"
    )
    made.add_argument(
        "--measure",
        type=int,
        default=0,
        metavar="N",
        help="only measure the finished draft in --out again, on N held-out prompts of "
        "each kind, and write its card's figures",
    )
    made.add_argument("--seed", type=int, default=0, help="of all draws (0)")
    made.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1")
    made.add_argument("--json", action="store_true", help="print one JSON object")
    return made


def main(options: argparse.Namespace) -> int:
    """Make the draft; the first Ctrl+C keeps the best one so far."""
    plan, control = plan_from(options), Control()
    teller, finished = _Teller(), None
    with interruptible(control):
        for event in Session().distill(plan, control):
            if isinstance(event, DistillFinished):
                finished = event
            else:
                teller.on_event(event)
    teller.clear()
    if finished is None:
        return CANCELLED
    if options.json:
        output.print_json(result_json(finished))
    else:
        print("\n".join(_lines(finished)))
    return CANCELLED if finished.cancelled else DONE


def plan_from(options: argparse.Namespace) -> DistillPlan:
    """Return what the options ask for.

    Raises:
        ConfigurationError: if a value is outside its limits.
    """
    return DistillPlan(
        target=ModelConfig(options.target, options.device),
        out=options.out,
        size=options.size,
        prompts=options.prompts,
        minutes=options.minutes,
        resume=options.resume,
        seed=options.seed,
        measure=options.measure,
    )


def result_json(finished: DistillFinished) -> dict[str, Any]:
    """Return the outcome with c spelled out."""
    ratio = finished.figures.cost_ratio if finished.figures else None
    return {**encode(finished), "cost_ratio": ratio, "badge": "MEASURED"}


class _Teller:
    """Says on standard error how far it is, one line that is written over."""

    def __init__(self) -> None:
        self._loading = Progress()
        self._live = sys.stderr.isatty()
        self._stage, self._said_at = "", 0.0

    def on_event(self, event: LoadProgress | DistillProgress) -> None:
        if isinstance(event, LoadProgress):
            self._loading.on_event(event)
            return
        now, measured = time.monotonic(), event.acceptance is not None
        due = event.stage != self._stage or now - self._said_at > _SAY_EVERY_S
        if self._live:
            print(f"\r\x1b[K{words.line(event)}", end="", file=sys.stderr, flush=True)
        elif due or measured:
            print(words.line(event), file=sys.stderr, flush=True)
            self._stage, self._said_at = event.stage, now

    def clear(self) -> None:
        if self._live:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _lines(finished: DistillFinished) -> list[str]:
    lines = words.outcome(finished)
    if not finished.tokens and finished.folder:  # it was only measured
        lines = lines[1:] or ["Nothing was measured; the card stays as it is."]
    if not finished.folder:
        return [*lines, "--resume goes on."]
    lines.insert(0, f"The draft is in {finished.folder}.")
    kinds = finished.figures.kinds if finished.figures else ()
    return lines + [
        f"  {kind.kind:<12} T = {kind.temperature:g}  acceptance "
        f"{words.share(kind.acceptance):>7}  tokens per round "
        f"{words.number(kind.tokens_per_round)}  speed-up {words.number(kind.speedup)}"
        for kind in kinds
    ]
