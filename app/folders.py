"""Where the window keeps its own files: logs, and the traces of runs that failed."""

from __future__ import annotations

from pathlib import Path

import platformdirs

NAME = "draftrace"


def log_folder() -> Path:
    """Return the folder of the log files."""
    return Path(platformdirs.user_log_dir(NAME, appauthor=False))


def trace_folder() -> Path:
    """Return the folder of the traces of failed runs."""
    return Path(platformdirs.user_data_dir(NAME, appauthor=False)) / "traces"
