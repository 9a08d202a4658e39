"""``draftrace verify``: check on this pair that decoding is lossless."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from core.cli import CANCELLED, CHECK_FAILED, DONE, output
from core.cli.mutant_table import ALL, try_all
from core.cli.options import (
    add_decoding_options,
    add_pair_options,
    pair_from,
    request_from,
)
from core.cli.prompt_choice import add_prompt_options
from core.cli.work import interruptible, load
from core.codec import encode
from core.control import Control
from core.lab.checks import Check, CheckFinished, ChecksFinished, CheckStarted
from core.session import Session


def parser(name: str) -> argparse.ArgumentParser:
    """Return the command's options."""
    made = argparse.ArgumentParser(prog=f"draftrace {name}", description=__doc__)
    add_pair_options(made)
    add_decoding_options(made)
    add_prompt_options(made, traced=False)
    made.add_argument(
        "--mutant",
        help="break the rule on purpose, to see that the checks notice: a name, or "
        "'all' for a table",
    )
    return made


def main(options: argparse.Namespace) -> int:
    """Check, and print what was found; exit 3 if a check failed."""
    request, session = request_from(options), Session()
    control, found = Control(request.config), None
    with interruptible(control):
        load(session, pair_from(options), control, allow_download=options.demo)
        if options.mutant == ALL:
            return try_all(session, request, control, as_json=options.json)
        for event in session.verify(request, control, mutant=options.mutant):
            match event:
                case CheckStarted():
                    print(f"Checking: {event.name}", file=sys.stderr)
                case CheckFinished():
                    pass  # all of them come together at the end
                case ChecksFinished():
                    found = event
                case _:
                    print(event.stage, file=sys.stderr)
    if found is None or found.cancelled:
        return CANCELLED
    _show(found, as_json=options.json)
    return DONE if found.passed else CHECK_FAILED


def _show(found: ChecksFinished, *, as_json: bool) -> None:
    if as_json:
        checks = [_keys(check) for check in found.checks]
        output.print_json({"checks": checks, "passed": found.passed})
        return
    print("\n".join(_line(check) for check in found.checks))
    print("PASS: lossless" if found.passed else "FAIL: not lossless")


def _keys(check: Check) -> dict[str, Any]:
    """Return what --json promises of a check; its detail tells a near tie."""
    return {name: value for name, value in encode(check).items() if name != "near_tie"}


def _line(check: Check) -> str:
    head = f"{check.verdict:<9}{check.name} ({check.seconds:.1f} s)"
    return f"{head}\n         {check.detail}"
