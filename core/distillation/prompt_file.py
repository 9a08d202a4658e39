"""A person's own prompts for distillation, read from a text file.

A file whose name ends in ``.jsonl`` holds one JSON value a line: a string, or an object
with ``text`` and, if wanted, ``chat`` (true) and ``kind`` ("user"). In any other file a
blank line divides prompts; where there is none, each line is one.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from core.distillation.prompts import HELD_OUT_SHARE, TrainingPrompt
from core.errors import PromptError

FEWEST = 10


def prompts_from_file(path: str | Path) -> tuple[TrainingPrompt, ...]:
    """Return the prompts of a file in its order, doubles left out.

    Some are held out, evenly spread: about 3 %, two at least.

    Raises:
        PromptError: if it cannot be read, is not text, or holds fewer than 10 prompts.
    """
    path = Path(path)
    text = _read(path)
    lines = path.suffix.lower() == ".jsonl"
    found = _from_json_lines(path, text) if lines else _from_text(text)
    found = list({prompt.text: prompt for prompt in found}.values())
    if len(found) < FEWEST:
        raise PromptError(
            f"The file {path} holds {len(found)} different prompts; give at least "
            f"{FEWEST}, one a line or divided by blank lines.",
            path=str(path),
            found=len(found),
        )
    return tuple(_with_held_out(found))


def _read(path: Path) -> str:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise PromptError(
            f"The prompts in {path} cannot be read ({error.strerror or error}); "
            "give the path of a text file.",
            path=str(path),
        ) from error
    except UnicodeDecodeError as error:
        raise _not_text(path) from error
    if "\0" in text:
        raise _not_text(path)
    return text.replace("\r\n", "\n")


def _not_text(path: Path) -> PromptError:
    return PromptError(
        f"The file {path} is not UTF-8 text; give one prompt a line, blocks divided "
        "by blank lines, or JSON lines.",
        path=str(path),
    )


def _from_text(text: str) -> list[TrainingPrompt]:
    blocks = re.split(r"\n[ \t]*\n", text.strip())
    pieces = blocks if len(blocks) > 1 else text.splitlines()
    texts = (piece.strip() for piece in pieces)
    return [TrainingPrompt("user", found, True, False) for found in texts if found]


def _from_json_lines(path: Path, text: str) -> list[TrainingPrompt]:
    lines = [(i, line) for i, line in enumerate(text.split("\n"), 1) if line.strip()]
    return [_from_json(path, number, line) for number, line in lines]


def _from_json(path: Path, number: int, line: str) -> TrainingPrompt:
    try:
        value = json.loads(line)
    except ValueError:
        value = None
    entry = {"text": value} if isinstance(value, str) else value
    text = entry.get("text") if isinstance(entry, dict) else None
    if not isinstance(text, str) or not text.strip():
        raise PromptError(
            f"Line {number} of {path} is no prompt; each line of a .jsonl file is a "
            'JSON string or an object with a "text".',
            path=str(path),
            line=number,
        )
    assert isinstance(entry, dict)
    kind, chat = str(entry.get("kind", "user")), bool(entry.get("chat", True))
    return TrainingPrompt(kind, text, chat, False)


def _with_held_out(found: list[TrainingPrompt]) -> list[TrainingPrompt]:
    count = max(2, round(HELD_OUT_SHARE * len(found)))
    kept = {round(i * len(found) / count) for i in range(count)}
    return [
        TrainingPrompt(p.kind, p.text, p.chat, index in kept)
        for index, p in enumerate(found)
    ]
