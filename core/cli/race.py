"""``draftrace race``: speculative against plain decoding, by turns."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from core.cli import CANCELLED, CHECK_FAILED, DONE, output
from core.cli.options import (
    add_decoding_options,
    add_pair_options,
    pair_from,
    request_from,
)
from core.cli.prompt_choice import add_prompt_options
from core.cli.work import interruptible, listen, load, traced
from core.codec import encode
from core.control import Control
from core.errors import ConfigurationError
from core.events import (
    DivergenceKind,
    Event,
    JudgedSpeed,
    RaceFinished,
    RepeatFinished,
)
from core.lab.run_advice import RunAdvice
from core.session import Session

MAX_REPEATS = 100


def parser(name: str) -> argparse.ArgumentParser:
    """Return the command's options."""
    made = argparse.ArgumentParser(prog=f"draftrace {name}", description=__doc__)
    add_pair_options(made)
    add_decoding_options(made)
    add_prompt_options(made)
    made.add_argument(
        "--repeats", type=int, default=3, help="measured repeats (1 to 100)"
    )
    return made


def main(options: argparse.Namespace) -> int:
    """Race, and print the result; exit 3 if lanes that must agree differ by a bug."""
    if not 1 <= options.repeats <= MAX_REPEATS:
        raise ConfigurationError(
            f"--repeats is {options.repeats}; choose 1 to {MAX_REPEATS}."
        )
    request, session = request_from(options, options.repeats), Session()
    control, watcher = Control(request.config), _Watcher()
    with interruptible(control):
        # Asking for the demo pair by name is asking for its download.
        pair = pair_from(options)
        loaded = load(session, pair, control, allow_download=options.demo)
        with traced(options.trace, loaded, request.config) as write:
            listen(session.race(request, control), watcher.on_event, write)
    result = watcher.result
    if result is None:
        return CANCELLED
    show = _print_json if options.json else _print_lines
    show(result, watcher.advice.sentence())
    if result.cancelled:
        return CANCELLED
    found = result.divergence
    bug = found is not None and found.kind is DivergenceKind.BUG
    return CHECK_FAILED if bug else DONE


class _Watcher:
    """Says on standard error how far the race is, and keeps its result."""

    result: RaceFinished | None = None

    def __init__(self) -> None:
        self.advice = RunAdvice()

    def on_event(self, event: Event) -> None:
        self.advice.on_event(event)
        match event:
            case RepeatFinished():
                ratio = output.number(event.speedup, 3, "x")
                left_out = "" if event.counted else " (K changed: not counted)"
                print(f"Repeat {event.repeat}: {ratio}{left_out}", file=sys.stderr)
            case RaceFinished():
                self.result = event
            case _:
                pass


def result_json(result: RaceFinished, advice: str = "") -> dict[str, Any]:
    """Return the race as DESIGN.md's keys, and what follows from it."""
    return {
        "plain": output.summary_json(result.plain),
        "speculative": output.summary_json(result.speculative),
        "speedup": encode(result.speedup),
        "identical": result.identical,
        "divergence": encode(result.divergence),
        "verdict": encode(result.verdict),
        "acceptance_rate": result.acceptance_rate,
        "break_even_acceptance": result.break_even_acceptance,
        "advice": advice,
        "memory_bytes": result.memory_bytes,
        "settings": encode(result.settings),
        "machine": encode(result.machine),
        "badge": "MEASURED",
    }


def _print_json(result: RaceFinished, advice: str) -> None:
    output.print_json(result_json(result, advice))


def _print_lines(result: RaceFinished, advice: str) -> None:
    print(result.speculative.text)
    for name, summary in (
        ("speculative", result.speculative),
        ("plain", result.plain),
    ):
        print(f"\n{name}")
        print("\n".join(f"  {line}" for line in output.totals(summary)))
    print()
    print("\n".join([*_verdict_lines(result), *filter(None, [advice])]))


def _verdict_lines(result: RaceFinished) -> list[str]:
    speedup = result.speedup
    return [
        f"speed-up {output.number(speedup.median, 2, 'x')} "
        f"({output.number(speedup.low)} to {output.number(speedup.high)} over "
        f"{speedup.repeats} races, MEASURED); total times "
        f"{output.number(speedup.total, 2, 'x')}",
        f"verdict: {_verdict(result.verdict)}; breaks even at "
        f"{output.share(result.break_even_acceptance)} accepted, measured "
        f"{output.share(result.acceptance_rate)}",
        _same_tokens(result),
    ]


def _verdict(verdict: JudgedSpeed) -> str:
    words = {JudgedSpeed.NONE: "none (fewer than three counted repeats)"}
    return words.get(verdict, str(verdict))


def _same_tokens(result: RaceFinished) -> str:
    if result.identical is None:
        return "same tokens: not promised at these settings; same distribution"
    if result.identical:
        return "same tokens: yes, every one"
    found = result.divergence
    if found is None:
        return "same tokens: no"
    gap = output.number(found.gap, 5)
    return f"same tokens: no, from token {found.position} ({found.kind}, gap {gap})"
