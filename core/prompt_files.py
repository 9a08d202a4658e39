"""Reading prompts from a file: a text is one prompt, JSON lines are one a line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from core.errors import PromptError
from core.prompts import Prompt

LARGEST_BYTES = 16 << 20
_LINES = (".jsonl", ".ndjson")
_TEXT_KEYS = ("prompt", "text")


def read_prompts(path: Path) -> tuple[Prompt, ...]:
    """Return the prompts of a file, at least one.

    A line of a JSON-lines file is a text, or an object with ``prompt`` (or ``text``)
    and, if wanted, ``kind``, ``title`` and ``chat``.

    Raises:
        PromptError: if it cannot be read, naming the line where one is wrong.
    """
    text = _read(path)
    if path.suffix.lower() not in _LINES:
        return (Prompt("file", path.name, text),)
    numbered = enumerate(text.splitlines(), start=1)
    found = [_prompt(path, n, line) for n, line in numbered if line.strip()]
    if not found:
        raise _wrong(path, "has no prompt in it", "put one JSON object on each line")
    return tuple(found)


def _read(path: Path) -> str:
    try:
        size = path.stat().st_size
        if size > LARGEST_BYTES:
            raise _wrong(path, f"has {size:,} bytes", "choose one below 16 MB")
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise _wrong(path, "is not UTF-8 text", "save it as UTF-8") from error
    except OSError as error:
        reason = f"cannot be read ({error.strerror})"
        raise _wrong(path, reason, "check the path and its permissions") from error
    if not text.strip():
        raise _wrong(path, "is empty", "choose one with a prompt in it")
    return text


def _prompt(path: Path, number: int, line: str) -> Prompt:
    try:
        value = json.loads(line)
    except ValueError as error:
        raise _line(path, number, "is not JSON") from error
    entry = {"text": value} if isinstance(value, str) else value
    if not isinstance(entry, dict):
        raise _line(path, number, "is neither an object nor a text")
    text = next((entry[key] for key in _TEXT_KEYS if key in entry), None)
    if not isinstance(text, str) or not text:
        raise _line(path, number, "has no text under 'prompt'")
    return Prompt(
        _word(entry, "kind") or "file",
        _word(entry, "title") or _beginning(text),
        text,
        entry.get("chat", True) is not False,
    )


def _word(entry: dict[str, Any], key: str) -> str:
    value = entry.get(key)
    return value if isinstance(value, str) else ""


def _beginning(text: str) -> str:
    """Return the first words, for a menu."""
    line = " ".join(text.split())
    return line if len(line) <= 48 else f"{line[:47]}…"


def _line(path: Path, number: int, what: str) -> PromptError:
    cure = 'write it like {"prompt": "…"}'
    return _wrong(path, f"{what} in line {number}", cure)


def _wrong(path: Path, what: str, cure: str) -> PromptError:
    return PromptError(
        f"The prompt file {path.name} {what}; {cure}.", path=str(path), file=path.name
    )
