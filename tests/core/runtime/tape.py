"""What a CUDA graph does, on a CPU: a list of operations, repeated with frozen numbers.

A replay runs the operations that were recorded, on the tensors that were recorded.
Whatever Python decided while recording stays decided, so a step that depends on more
than its buffers shows here as it would on a GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

Work = Callable[[], None]
# Python would wait for an answer, which a recording forbids.
FORBIDDEN = ("_local_scalar_dense", "nonzero", "masked_select", "equal", "is_nonzero")


class TapeRecorder:
    """Records work as a list of operations.

    Attributes:
        replays: how often recorded work was repeated.
    """

    def __init__(self) -> None:
        self.replays = 0

    def __call__(self, work: Work) -> Work:
        with _Tape() as tape:
            work()

        def replay() -> None:
            self.replays += 1
            tape.replay()

        return replay


class _Tape(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self._operations: list[tuple[Any, Any, Any, Any]] = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function._schema.name.removeprefix("aten::")
        assert name not in FORBIDDEN, f"{name} asks the device for an answer"
        out = function(*args, **(kwargs or {}))
        self._operations.append((function, args, kwargs or {}, out))
        return out

    def replay(self) -> None:
        """Repeat all operations; what one of them made is made anew."""
        now: dict[int, Tensor] = {}

        def current(value: Any) -> Any:
            return now.get(id(value), value) if isinstance(value, Tensor) else value

        for function, args, kwargs, recorded in self._operations:
            found = function(*tree_map(current, args), **tree_map(current, kwargs))
            pairs = zip(tree_flatten(recorded)[0], tree_flatten(found)[0], strict=True)
            for old, new in pairs:
                if isinstance(old, Tensor):
                    now[id(old)] = new


def is_frozen() -> bool:
    """Return whether a tape keeps what Python decided while it was recorded."""
    number, out = [1.0], torch.zeros(1)

    def work() -> None:
        out.fill_(number[0])

    replay = TapeRecorder()(work)
    number[0] = 2.0
    replay()
    return out.item() == 1.0
