"""Keeping the model libraries silent while they work for us."""

from __future__ import annotations

import contextlib
import importlib
import warnings
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """No progress bars on standard error, no advice in the log, no warnings."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings(), _no_gguf_bar():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


@contextlib.contextmanager
def _no_gguf_bar() -> Iterator[None]:
    """Replace the one bar that the library's own switch does not reach."""
    try:
        reader: Any = importlib.import_module(
            "transformers.modeling_gguf_pytorch_utils"
        )
    except ImportError:
        yield
        return
    original = getattr(reader, "tqdm", None)
    reader.tqdm = _plain
    try:
        yield
    finally:
        reader.tqdm = original


def _plain(items: Any, **_: Any) -> Any:
    return items
