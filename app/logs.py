"""The log file: small, rotating, in the user's own folder, without secrets."""

from __future__ import annotations

import logging
from logging.handlers import RotatingFileHandler
from pathlib import Path

from app.folders import log_folder
from core.redaction import without_secrets

LARGEST = 1_000_000
KEPT = 3
FORM = "%(asctime)s %(levelname)s %(threadName)s %(name)s: %(message)s"


class _Redacting(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return without_secrets(super().format(record))


def log_file() -> Path:
    """Return the path of the log file."""
    return log_folder() / "draftrace.log"


def start_logging() -> None:
    """Log to the file, or to standard error where no file can be written."""
    handler: logging.Handler
    try:
        log_folder().mkdir(parents=True, exist_ok=True)
        handler = RotatingFileHandler(
            log_file(), maxBytes=LARGEST, backupCount=KEPT, encoding="utf-8"
        )
    except OSError:
        handler = logging.StreamHandler()
    handler.setFormatter(_Redacting(FORM))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.INFO)
