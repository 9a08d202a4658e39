"""How often Python waits for a GPU's answer in a round, counted by torch's profiler.

Untested on a GPU so far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch.profiler import ProfilerActivity, profile

_COPIES = ("Memcpy DtoH", "Memcpy Device to Host")


def reads_per_round(device: str, play: Callable[[], int]) -> float | None:
    """Return the copies from the device to memory for each round of a decoding.

    Args:
        device: where it runs.
        play: decodes and returns the rounds that it played.

    Returns:
        The copies over the rounds; None where memory is all there is, or no round was
        played.
    """
    if torch.device(device).type != "cuda":
        return None
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
        rounds = play()
        torch.cuda.synchronize(device)
    reads = count_reads(event.name for event in seen.events() or ())
    return reads / rounds if rounds else None


def count_reads(names: Iterable[str]) -> int:
    """Return how many of a profile's events are copies to memory."""
    return sum(name.startswith(_COPIES) for name in names)
