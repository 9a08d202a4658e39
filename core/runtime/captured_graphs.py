"""CUDA graphs: work on fixed buffers, recorded once and replayed with one launch.

Untested on a GPU so far. Elsewhere a recording is the call itself, so that everything
built on it runs on a CPU in the tests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch

Work = Callable[[], None]


class Recorder(Protocol):
    """Turns work on fixed buffers into something that repeats it."""

    def __call__(self, work: Work) -> Work:
        """Return what repeats ``work``, which has run at least once by then."""
        ...


def run_directly(work: Work) -> Work:
    """Record nothing: repeating is calling."""
    work()
    return work


class GraphRecorder:
    """Records CUDA graphs that share one pool of memory.

    Args:
        device: where the work runs.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._pool = torch.cuda.graph_pool_handle()
        self._side = torch.cuda.Stream(device)  # one for all, or the pool is not shared

    def __call__(self, work: Work) -> Work:
        """Run ``work`` twice to warm up, then record it.

        Libraries choose kernels and fetch workspace on the first calls, which must not
        happen inside a recording.
        """
        with torch.cuda.device(self._device):
            here, side = torch.cuda.current_stream(), self._side
            side.wait_stream(here)
            with torch.cuda.stream(side):
                work()
                work()
            here.wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            # Other threads may use the device meanwhile, if only to ask for its memory.
            how = {"pool": self._pool, "stream": side}
            with torch.cuda.graph(graph, capture_error_mode="thread_local", **how):
                work()
        return graph.replay


def recorder_for(device: torch.device) -> Recorder:
    """Return what records on ``device``."""
    return GraphRecorder(device) if device.type == "cuda" else run_directly
