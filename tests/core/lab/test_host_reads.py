"""What counts as waiting for a GPU."""

from __future__ import annotations

import pytest
import torch

from core.lab.host_reads import count_reads, reads_per_round

NAMES = (
    "Memcpy DtoH (Device -> Pageable)",
    "Memcpy HtoD (Pinned -> Device)",
    "Memcpy DtoD (Device -> Device)",
    "aten::copy_",
    "Memcpy DtoH (Device -> Pinned)",
    "cudaMemcpyAsync",
)


def test_copies_to_memory_are_counted_and_no_others():
    assert count_reads(NAMES) == 2


def test_without_a_gpu_nothing_is_played():
    def play() -> int:
        raise AssertionError("there is nothing to count")

    assert reads_per_round("cpu", play) is None


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_a_gpu_counts_each_copy():
    numbers = torch.arange(4, device="cuda")

    def play() -> int:
        for _ in range(6):
            (numbers + 1).cpu()
        return 3

    assert reads_per_round("cuda", play) == 2
