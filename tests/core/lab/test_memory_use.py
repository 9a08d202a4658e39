"""Memory in the bench: what is read, what it is held against, and how it is said."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from core.checkpoints.loading import load_model
from core.cli.bench import memory_line
from core.config import ModelConfig
from core.lab.bench import memory_json
from core.lab.memory_use import MemoryUse, memory_use, resident_bytes
from tests.core.tiny_sessions import checkpoint

# 600 MB at the peak, 200 MB of them libraries: 400 MB where 320 MB are needed.
USE = MemoryUse(600_000_000, 200_000_000, 300_000_000, 20_000_000)
GROW = """
import numpy as np
from core.lab.memory_use import resident_bytes, resident_peak
before = resident_bytes()
block = np.ones(50_000_000)  # 400 MB
held = resident_bytes()
del block
print(before, held, resident_bytes(), resident_peak())
"""


def test_the_peak_is_what_the_process_once_held():
    command = [sys.executable, "-c", GROW]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    before, held, after, peak = (int(n) for n in done.stdout.split())
    assert held - before > 390_000_000
    assert held - after > 390_000_000
    assert held <= peak + 1_000_000  # the kernel counts pages in batches
    assert peak < held + 200_000_000


def test_libraries_are_no_part_of_what_is_held_against_the_needs():
    assert USE.over_needs == pytest.approx(400 / 320)


def test_weights_and_caches_of_both_models_are_the_needs(tmp_path):
    target = load_model(ModelConfig(str(checkpoint(tmp_path / "t")), "cpu", "float32"))
    draft = load_model(ModelConfig(str(checkpoint(tmp_path / "d")), "cpu", "float32"))
    alone = memory_use(target, None, 0, 64, lambda: None)
    both = memory_use(target, draft, 0, 64, lambda: None)
    assert alone.weights_bytes == 4 * target.facts.num_parameters
    assert alone.cache_bytes == 4 * 64 * target.facts.cache_values_per_token
    assert both.weights_bytes == 2 * alone.weights_bytes
    assert both.cache_bytes == 2 * alone.cache_bytes


def test_the_peak_has_what_the_decoding_gave_back(tmp_path):
    target = load_model(ModelConfig(str(checkpoint(tmp_path / "t")), "cpu", "float32"))
    held: list[int] = []

    def play() -> None:
        block = np.ones(12_500_000)  # 100 MB
        held.append(resident_bytes())
        del block

    use = memory_use(target, None, 0, 64, play)
    (then,) = held
    assert resident_bytes() < then - 90_000_000
    assert use.peak_bytes >= then - 1_000_000  # the kernel counts pages in batches


def test_json_has_the_bytes_and_the_ratio():
    assert memory_json(USE) == {
        "peak_bytes": 600_000_000,
        "libraries_bytes": 200_000_000,
        "weights_bytes": 300_000_000,
        "cache_bytes": 20_000_000,
        "over_needs": pytest.approx(1.25),
    }
    assert memory_json(None) is None


def test_the_table_says_it_in_one_line():
    assert memory_line(memory_json(USE)) == (
        "memory at its peak 600 MB, libraries 200 MB; the rest is 1.25 times weights "
        "(300 MB) and caches (20 MB)"
    )
