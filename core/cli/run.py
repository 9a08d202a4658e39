"""``draftrace run``: decode one prompt."""

from __future__ import annotations

import argparse
import sys

from core.cli import CANCELLED, DONE, output
from core.cli.options import (
    add_decoding_options,
    add_pair_options,
    pair_from,
    request_from,
)
from core.cli.prompt_choice import add_prompt_options
from core.cli.work import interruptible, listen, load, traced
from core.control import Control
from core.events import (
    Event,
    LaneSummary,
    Noted,
    RoundFinished,
    RunFinished,
    StopReason,
)
from core.session import Session


def parser(name: str) -> argparse.ArgumentParser:
    """Return the command's options."""
    made = argparse.ArgumentParser(prog=f"draftrace {name}", description=__doc__)
    add_pair_options(made)
    add_decoding_options(made)
    add_prompt_options(made)
    return made


def main(options: argparse.Namespace) -> int:
    """Decode, printing tokens as they come, or one JSON object at the end."""
    request, session = request_from(options), Session()
    control = Control(request.config)
    printer = _Printer(as_json=options.json)
    with interruptible(control):
        # Asking for the demo pair by name is asking for its download.
        pair = pair_from(options)
        loaded = load(session, pair, control, allow_download=options.demo)
        with traced(options.trace, loaded, request.config) as write:
            listen(session.run(request, control), printer.on_event, write)
    summary = printer.summary
    if summary is None or summary.stop_reason is StopReason.CANCELLED:
        return CANCELLED
    return DONE


class _Printer:
    """Prints a run as it happens."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._tokens = output.TokenPrinter()
        self.summary: LaneSummary | None = None

    def on_event(self, event: Event) -> None:
        match event:
            case RoundFinished() if not self._as_json:
                self._tokens.on_round(event)
            case Noted():
                print(event.sentence, file=sys.stderr)
            case RunFinished():
                self.summary = event.summary
                self._finish(event.summary)
            case _:
                pass

    def _finish(self, summary: LaneSummary) -> None:
        if self._as_json:
            output.print_json(output.summary_json(summary))
            return
        self._tokens.finish(summary)
        for line in output.totals(summary):
            print(line, file=sys.stderr)
