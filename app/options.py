"""The window's own options, for scripted starts and pictures. No Qt in here."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from app.themes import THEMES
from core.cli import COMMANDS
from core.config import DecodingConfig


def parser() -> argparse.ArgumentParser:
    """Return the options of the window."""
    made = argparse.ArgumentParser(
        prog="draftrace",
        description="Open the window; 'draftrace run --help' and so on need none.",
        epilog=f"Commands: {', '.join(COMMANDS)}.",
    )
    add = made.add_argument
    add("--autorun", choices=("run", "race"), help="begin at once")
    add("--screenshot", metavar="FILE", type=Path, help="picture of the finished state")
    add("--quit", action="store_true", help="leave when the autorun has finished")
    add("--theme", choices=THEMES, help="appearance for this start")
    add("--size", type=_size, metavar="WxH", help="size of the window")
    add("--open", metavar="TRACE", type=Path, help="replay a trace")
    add("--prompt", help="text to decode")
    add("--target", help="folder, GGUF file, hub id or 'demo'")
    add("--draft", help="as --target, or 'lookup' or 'none'")
    add("--k", type=int, help="tokens proposed per round")
    add("--temperature", type=float, help="0 takes the most probable token")
    add("--max-new-tokens", type=int, help="tokens after which the run ends")
    return made


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Return the options; leaves with code 2 where they cannot be read.

    Raises:
        ConfigurationError: for a setting out of its range.
    """
    chosen = parser().parse_args(argv)
    DecodingConfig(**decoding_settings(chosen))
    return chosen


def decoding_settings(options: argparse.Namespace) -> dict[str, Any]:
    """Return the settings of decoding that were given, by their names."""
    wanted = {
        "lookahead": options.k,
        "temperature": options.temperature,
        "max_new_tokens": options.max_new_tokens,
    }
    return {name: value for name, value in wanted.items() if value is not None}


def _size(text: str) -> tuple[int, int]:
    try:
        width, height = (int(part) for part in text.lower().split("x"))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not like 1280x800") from None
    return width, height
