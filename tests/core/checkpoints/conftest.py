"""Tiny checkpoints, made once per session and copied where a test breaks them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tiny_checkpoints import make_checkpoint, make_gguf


@pytest.fixture(scope="session")
def whole(tmp_path_factory) -> Path:
    """A whole tiny checkpoint; do not change it."""
    return make_checkpoint(tmp_path_factory.mktemp("models") / "tiny-llama")


@pytest.fixture
def broken(whole, tmp_path) -> Path:
    """A copy of the tiny checkpoint to break."""
    return Path(shutil.copytree(whole, tmp_path / "tiny-llama"))


@pytest.fixture(scope="session")
def whole_gguf(tmp_path_factory) -> Path:
    """A whole tiny GGUF file; do not change it."""
    return make_gguf(tmp_path_factory.mktemp("gguf") / "tiny.gguf")


@pytest.fixture(autouse=True)
def _no_hub(tmp_path, monkeypatch):
    """Give every test an empty hub cache."""
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
