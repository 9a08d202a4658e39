"""The command line, one command a file; the proof that Qt is not needed."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import sys
from collections.abc import Sequence

from core.cli.at_once import refuse_at_once
from core.errors import CoreError

DONE, OUR_FAULT, BAD_INPUT, CHECK_FAILED, CANCELLED = 0, 1, 2, 3, 130
READER_LEFT = 141  # 128 + SIGPIPE, as a shell reports of other programs

COMMANDS = {
    "run": "decode one prompt and print the tokens and the totals",
    "race": "race speculative against plain decoding",
    "verify": "check that a pair is lossless: same tokens, same law",
    "bench": "measure steps, rounds and rates beside transformers",
    "sweep": "measure the pair over a grid of K and temperature, resumably",
    "distill": "train a small draft for a target",
    "inspect": "say what a checkpoint is and whether a pair fits",
    "get": "fetch a model from the hub",
    "models": "list the checkpoints on this machine, and which could draft",
    "report": "write a trace as one HTML page, or for a profiler",
    "demo": "fetch or show the demo pair",
    "doctor": "say what a bug report needs to know of this machine",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code.

    0 done, 1 our fault, 2 the user's input, 3 a check failed, 130 cancelled, 141 if
    nobody reads what is printed any more, as after ``| head``.
    """
    try:
        try:
            return _run(argv)
        finally:
            sys.stdout.flush()  # here, not at the exit, where nothing can be caught
    except BrokenPipeError:
        _drop_output()
        return READER_LEFT


def _run(argv: Sequence[str] | None) -> int:
    try:
        code = _run_command(list(sys.argv[1:] if argv is None else argv))
    except CoreError as error:
        print(f"draftrace: {error.sentence}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:  # also while a command's modules are imported
        code = CANCELLED
    if code == CANCELLED:
        print("draftrace: cancelled.", file=sys.stderr)
    return code


def _run_command(arguments: list[str]) -> int:
    parser = _parser()
    if not arguments or arguments[0] not in COMMANDS:
        parser.parse_args(arguments)  # prints help, version or what is wrong
        parser.print_help()
        return DONE
    command = importlib.import_module(f"core.cli.{arguments[0]}")
    options = command.parser(arguments[0]).parse_args(arguments[1:])
    refuse_at_once(options)
    return command.main(options)


def _drop_output() -> None:
    """Let the interpreter's last flush write to nowhere instead of failing again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            with contextlib.suppress(OSError):
                os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _parser() -> argparse.ArgumentParser:
    from core.machine import package_version

    lines = "\n".join(f"  {name:<10}{text}" for name, text in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="draftrace",
        description="Watch, tune and race speculative sampling.",
        epilog=f"commands:\n{lines}\n\nWithout a command the window opens.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="draftrace [command] [options]",
    )
    version = package_version("draftrace")
    parser.add_argument("--version", action="version", version=f"draftrace {version}")
    return parser
