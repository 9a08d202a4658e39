"""Turning what loading libraries raise into one sentence, and giving memory back."""

from __future__ import annotations

import contextlib
import gc
import sys
import traceback
from collections.abc import Iterator

from core.checkpoints.devices import Placement, free_bytes
from core.checkpoints.facts import CheckpointFacts
from core.checkpoints.memory import no_room, weight_bytes
from core.checkpoints.progress import Cancelled
from core.errors import CoreError, ModelLoadError

_MEMORY_WORDS = ("out of memory", "can't allocate memory", "not enough memory")


@contextlib.contextmanager
def translated(facts: CheckpointFacts, placement: Placement) -> Iterator[None]:
    """Translate third-party exceptions inside.

    Raises:
        DeviceMemoryError: if memory ran out.
        ModelLoadError: for everything else.
    """
    try:
        yield
    except (CoreError, Cancelled):
        raise
    except Exception as error:
        detail = "".join(traceback.format_exception(error))
        forget_frames(error)
        if _is_memory(error):
            needed = weight_bytes(facts, placement.dtype)
            free = free_bytes(placement.device)
            raise no_room(facts.name, placement.device, needed, free) from error
        raise _failed(facts.name, error, detail) from error


def release(error: BaseException) -> None:
    """Give back the memory that a failed load holds."""
    forget_frames(error)
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.empty_cache()


def forget_frames(error: BaseException) -> None:
    """Clear the local variables that the tracebacks of ``error`` keep alive."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        current = waiting.pop()
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        traceback.clear_frames(current.__traceback__)
        waiting += (current.__cause__, current.__context__)


def _is_memory(error: BaseException) -> bool:
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return any(word in str(error).lower() for word in _MEMORY_WORDS)


def _failed(name: str, error: Exception, detail: str) -> ModelLoadError:
    if isinstance(error, ImportError):
        missing = error.name or "a library that is not installed"
        return ModelLoadError(
            f"The model {name} needs {missing}; install it or choose a model that "
            "is not quantised.",
            detail=detail,
        )
    return ModelLoadError(
        f"The model {name} could not be loaded ({type(error).__name__}); check that "
        "its files belong together, or choose another model.",
        detail=detail,
    )
