"""What must never leave the machine in a trace, a log or a report."""

from __future__ import annotations

import re

_ACCESS_TOKEN = re.compile(r"\b(?:hf|ghp)_[A-Za-z0-9]{16,}|(?<=Bearer )\S+")
# At least two separators, so that "tokens/s" and "1/2" are left alone; a web address is
# no path: its slashes follow a colon or each other.
_PATH = re.compile(
    r"(?<![\w/\\])(?:file://)?(?:~|[A-Za-z]:|\\)?[\\/](?:[^\s\\/'\"]+[\\/])+([^\s\\/'\"]*)"
)


def last_component(reference: str) -> str:
    """Return the last part of a folder, file or hub id."""
    return re.split(r"[\\/]", reference.rstrip("\\/"))[-1]


def without_secrets(sentence: str) -> str:
    """Return ``sentence`` with access tokens gone and paths cut to their last part."""
    return _PATH.sub(lambda m: m[1] or "…", _ACCESS_TOKEN.sub("…", sentence))
