"""What would slow rounds down is switched off, and nothing is kept for good."""

from __future__ import annotations

import gc
import sys

import psutil
import pytest
import torch

from core.runtime.heap import keep_small_memory, libraries_spared

VOCABULARY = 49_152
_FAULTS = 7  # in /proc/self/stat, behind the name: pages fetched so far


def page_faults() -> int:
    with open("/proc/self/stat", encoding="utf-8") as file:
        return int(file.read().rsplit(")", 1)[1].split()[_FAULTS])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="of glibc")
def test_rows_of_a_vocabulary_are_not_fetched_page_by_page():
    keep_small_memory()
    for _ in range(3):
        torch.ones(VOCABULARY)
    before = page_faults()
    for _ in range(100):
        torch.ones(VOCABULARY)
    assert page_faults() - before < 400, "a row has 48 pages"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="of glibc")
def test_weights_still_go_back_to_the_system():
    keep_small_memory()
    process = psutil.Process()
    before = process.memory_info().rss
    weights = [torch.ones(4 << 20) for _ in range(16)]  # 16 MiB each
    assert process.memory_info().rss - before > 200 << 20
    weights.clear()
    assert process.memory_info().rss - before < 90 << 20


def test_the_collector_passes_over_what_was_there_and_looks_again_afterwards():
    with libraries_spared():
        spared = gc.get_freeze_count()
    assert spared > 1000
    assert gc.get_freeze_count() == 0


def test_the_collector_looks_again_after_a_fault():
    with pytest.raises(ValueError, match="broke"), libraries_spared():
        raise ValueError("it broke")
    assert gc.get_freeze_count() == 0
