"""``draftrace get``: fetch a model from the hub, or go on where it broke off."""

from __future__ import annotations

import argparse

from core.checkpoints.facts import CheckpointFacts
from core.cli import CANCELLED, DONE, output
from core.cli.work import Progress, interruptible
from core.codec import encode
from core.control import Control
from core.errors import ConfigurationError


def parser(name: str) -> argparse.ArgumentParser:
    """Return the command's options."""
    made = argparse.ArgumentParser(prog=f"draftrace {name}", description=__doc__)
    made.add_argument("id", help="owner/name as the hub spells it")
    made.add_argument("--size", action="store_true", help="say the size, fetch nothing")
    made.add_argument("--json", action="store_true", help="print one JSON object")
    return made


def main(options: argparse.Namespace) -> int:
    """Fetch the model and say what it is."""
    from core.checkpoints.progress import Cancelled

    _require_id(options.id)
    control = Control()
    try:
        with interruptible(control):
            return _size(options, control) if options.size else _get(options, control)
    except Cancelled:
        return CANCELLED


def _require_id(text: str) -> None:
    from core.checkpoints.hub_cache import is_hub_id

    if not is_hub_id(text) or "/" not in text:
        raise ConfigurationError(
            f"{text!r} is no id of the model hub; give it as owner/name.", value=text
        )


def _size(options: argparse.Namespace, control: Control) -> int:
    from core.checkpoints.hub import download_size
    from core.checkpoints.progress import Work, megabytes

    num_bytes = download_size(options.id, Work(should_stop=control.should_stop))
    if options.json:
        output.print_json({"reference": options.id, "download_bytes": num_bytes})
    else:
        print(f"{options.id}: {megabytes(num_bytes)}")
    return DONE


def _get(options: argparse.Namespace, control: Control) -> int:
    from core.checkpoints.hub import download_checkpoint
    from core.checkpoints.inspection import inspect_checkpoint
    from core.checkpoints.progress import Work

    progress = Progress()
    try:
        download_checkpoint(options.id, Work(progress.on_event, control.should_stop))
    finally:
        progress.clear()
    _show(inspect_checkpoint(options.id), as_json=options.json)
    return DONE


def _show(facts: CheckpointFacts, *, as_json: bool) -> None:
    from core.checkpoints.words import table

    if as_json:
        output.print_json(encode(facts))
        return
    print(f"{facts.reference} is here: {facts.path}")
    print("\n".join(f"  {name:<14} {value}" for name, value in table(facts)))
