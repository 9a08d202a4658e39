"""Which prompt a command decodes: typed, out of a file, or one of the library."""

from __future__ import annotations

import argparse
from pathlib import Path

from core.config import DrafterKind
from core.errors import PromptError
from core.prompt_files import read_prompts
from core.prompts import Prompt, start_prompt


def add_prompt_options(parser: argparse.ArgumentParser, *, traced: bool = True) -> None:
    """Add what is decoded, and how the result is printed."""
    group = parser.add_argument_group("prompt")
    group.add_argument("--prompt", help="the text (default: one for the drafter)")
    group.add_argument(
        "--prompt-file",
        type=Path,
        metavar="FILE",
        help="a UTF-8 text, or JSON lines (.jsonl) with one prompt on each",
    )
    group.add_argument(
        "--prompt-number",
        type=int,
        metavar="N",
        help="which prompt of a file that has several, from 1",
    )
    group.add_argument("--raw", action="store_true", help="no chat template")
    group.add_argument("--system", default="", help="the chat template's system turn")
    if traced:
        group.add_argument(
            "--trace", type=Path, metavar="FILE", help="keep every event"
        )
    group.add_argument("--json", action="store_true", help="print one JSON object")


def chosen_prompt(options: argparse.Namespace, drafter: DrafterKind) -> Prompt:
    """Return the prompt that the options name; without one, what suits the drafter.

    Raises:
        PromptError: if two are named, or a file's is not clear.
    """
    if options.prompt is not None and options.prompt_file is not None:
        raise PromptError("--prompt and --prompt-file name two prompts; give one.")
    if options.prompt_file is not None:
        return _of_file(options.prompt_file, options.prompt_number)
    if options.prompt_number is not None:
        raise PromptError(
            f"--prompt-number {options.prompt_number} counts in a file; give "
            "--prompt-file, too."
        )
    if options.prompt is not None:
        return Prompt("typed", "", options.prompt)
    return Prompt("library", "", start_prompt(drafter).text)


def _of_file(file: Path, number: int | None) -> Prompt:
    """Return one prompt of a file: none of several is taken silently."""
    prompts = read_prompts(file)
    if number is None and len(prompts) > 1:
        raise PromptError(
            f"The prompt file {file.name} has {len(prompts)} prompts, and one is "
            f"decoded at a time; choose it with --prompt-number 1 to {len(prompts)}.",
            path=str(file),
        )
    if number is not None and not 1 <= number <= len(prompts):
        raise PromptError(
            f"--prompt-number is {number}; the prompt file {file.name} has "
            f"{len(prompts)}, counted from 1.",
            path=str(file),
        )
    return prompts[(number or 1) - 1]
