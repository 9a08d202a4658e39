"""What a pair really takes in memory, beside what its weights and caches need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil
import torch

from core import metrics
from core.checkpoints.loading import LoadedModel
from core.checkpoints.memory import estimate
from core.sampling import kernels

_STATUS = Path("/proc/self/status")


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """The memory of a pair that was loaded and has decoded.

    Attributes:
        peak_bytes: the most that the process held until then; on a GPU, the most that
            was allocated there.
        libraries_bytes: what it held before the weights were read; 0 on a GPU.
        weights_bytes: of target and draft.
        cache_bytes: of their caches in that decoding.
    """

    peak_bytes: int
    libraries_bytes: int
    weights_bytes: int
    cache_bytes: int

    @property
    def over_needs(self) -> float | None:
        """The peak without the libraries, over weights and caches."""
        return metrics.ratio(
            self.peak_bytes - self.libraries_bytes,
            self.weights_bytes + self.cache_bytes,
        )


def memory_use(
    target: LoadedModel,
    draft: LoadedModel | None,
    libraries_bytes: int,
    capacity: int,
    play: Callable[[], object],
) -> MemoryUse:
    """Decode once and return what that took.

    Nothing else that is large may have been in this process before.

    Args:
        target: the loaded target.
        draft: the loaded draft, if it has weights.
        libraries_bytes: see :func:`libraries_bytes`, before the pair was loaded.
        capacity: tokens that each cache holds in ``play``.
        play: decodes speculatively.
    """
    play()
    needs = estimate(
        target.facts,
        draft.facts if draft else None,
        capacity=capacity,
        lookahead=0,
        racing=False,
        device=target.device,
        dtype=target.dtype,
        draft_dtype=draft.dtype if draft else None,
    )
    on_gpu = torch.device(target.device).type == "cuda"
    return MemoryUse(
        peak_bytes=_allocated_peak(target.device) if on_gpu else resident_peak(),
        libraries_bytes=0 if on_gpu else libraries_bytes,
        weights_bytes=needs.weights_bytes,
        cache_bytes=needs.cache_bytes,
    )


def libraries_bytes(device: str) -> int:
    """Return what this process holds with all in it that a load brings but the pair.

    On a CPU the kernels belong to it: what is compiled for one pair serves them all.
    """
    import core.runtime.models  # noqa: F401  # with transformers behind it

    if torch.device(device).type == "cpu":
        kernels.prepare()
    return resident_bytes()


def resident_bytes() -> int:
    """Return the memory that this process holds now."""
    return psutil.Process().memory_info().rss


def resident_peak() -> int:
    """Return the most memory that this process ever held."""
    if _STATUS.exists():
        # getrusage would count what was forked before this program began, too.
        lines = _STATUS.read_text(encoding="ascii").splitlines()
        line = next((line for line in lines if line.startswith("VmHWM")), "")
        return int(line.split()[1]) * 1024 if line else resident_bytes()
    info = psutil.Process().memory_info()
    return getattr(info, "peak_wset", 0) or _usage_peak()


def _usage_peak() -> int:
    import resource  # there is none on Windows

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # bytes on macOS


def _allocated_peak(device: str) -> int:
    return torch.cuda.max_memory_allocated(device)
