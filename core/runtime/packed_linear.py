"""A linear layer that reads each weight once when there are few rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers.pytorch_utils import Conv1D

from core.runtime.kernels.crew import crew
from core.runtime.kernels.products import CHUNK_BYTES, linear
from core.runtime.transformers_model import MAX_ROWS


class PackedLinear(nn.Module):
    """``nn.Linear`` in float32 on a CPU: our kernel for few rows, BLAS for many."""

    def __init__(self, weight: nn.Parameter, bias: nn.Parameter | None) -> None:
        super().__init__()
        self.weight = weight  # [outs, size]; the very object, so that ties hold
        self.bias = bias
        self.out_features, self.in_features = weight.shape
        self._few = weight.nbytes < 2 * CHUNK_BYTES  # not worth waking anybody

    def forward(self, x: Tensor) -> Tensor:
        """Return x w^T + bias for x of [..., size]."""
        rows = x.numel() // self.in_features
        if not 0 < rows <= MAX_ROWS:
            return functional.linear(x, self.weight, self.bias)
        y = self._start(rows)  # [rows, outs]
        activations = x.reshape(rows, -1).contiguous().numpy()
        run = crew().run_alone if self._few else crew().run
        run(linear, 1, self.weight.detach().numpy(), activations, y)
        return torch.from_numpy(y).view(*x.shape[:-1], self.out_features)

    def _start(self, rows: int) -> np.ndarray:
        if self.bias is None:
            return np.zeros((rows, self.out_features), dtype=np.float32)
        return np.tile(self.bias.detach().numpy(), (rows, 1))


def pack(module: nn.Module) -> None:
    """Replace every linear layer inside ``module`` by a packed one."""
    made: dict[int, PackedLinear] = {}
    for parent in list(module.modules()):
        for name, child in list(parent.named_children()):
            if type(child) in (nn.Linear, Conv1D):
                if id(child) not in made:
                    made[id(child)] = _packed(child)
                setattr(parent, name, made[id(child)])


def _packed(layer: Any) -> PackedLinear:
    weight = layer.weight
    if type(layer) is Conv1D:  # stores [size, outs]
        weight = nn.Parameter(weight.detach().t().contiguous(), requires_grad=False)
    return PackedLinear(weight, layer.bias)


def only_packed(module: nn.Module) -> bool:
    """Return whether all matrices are in packed layers or are looked up by row.

    A matrix elsewhere (a mixture's experts, say) is multiplied by BLAS, which adds up
    differently for different numbers of rows.
    """
    known = (PackedLinear, nn.Embedding)
    held = [
        p
        for part in module.modules()
        if isinstance(part, known)
        for p in part.parameters(recurse=False)
    ]
    ours = {id(p) for p in held}
    return all(id(p) in ours for p in module.parameters() if p.dim() > 1)
