"""How many threads compute.

Counts belong to the calling thread: set them on each step.
"""

from __future__ import annotations

import functools
import os

import psutil
import torch


@functools.cache
def physical_cores() -> int:
    """Return the cores that kernels use; a second thread on a core only disturbs."""
    cores = psutil.cpu_count(logical=False) or os.cpu_count() or 1
    allowed = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else cores
    )
    return max(1, min(cores, allowed))


def torch_alone() -> None:
    """Give torch one thread: its pool would spin against the kernels' pool."""
    if torch.get_num_threads() != 1:
        torch.set_num_threads(1)


def torch_on_all_cores() -> None:
    """Give torch all cores, for products of many rows."""
    if torch.get_num_threads() != physical_cores():
        torch.set_num_threads(physical_cores())
