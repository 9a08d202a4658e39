"""What moves a student's weights: Muon the layers' matrices, AdamW all others.

Muon (Jordan et al. 2024, kellerjordan.github.io/posts/muon) makes every direction of a
matrix's step equally long, so that rare directions are learned as fast as frequent
ones. Small students read few tokens; that decides how much they get out of them.
"""

from __future__ import annotations

from typing import Any

from torch.optim import AdamW, Muon, Optimizer

from core.distillation.student import Student


class Optimizers:
    """Both optimisers of a student as one.

    Args:
        student: whose weights are moved.
        matrix_rate: highest learning rate of Muon.
        learning_rate: highest of AdamW.
        weight_decay: of everything but the norms.
    """

    def __init__(
        self,
        student: Student,
        matrix_rate: float,
        learning_rate: float,
        weight_decay: float,
    ) -> None:
        parameters = [p for p in student.body.parameters() if p.requires_grad]
        norms = {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0}
        matrices = [p for n, p in student.body.layers.named_parameters() if p.dim() > 1]
        self._parts: tuple[Optimizer, ...] = (
            Muon(matrices, lr=matrix_rate, weight_decay=weight_decay),
            AdamW(
                [{"params": [student.head]}, norms],
                lr=learning_rate,
                betas=(0.9, 0.98),
                weight_decay=weight_decay,
                fused=True,
            ),
        )
        self._highest = (matrix_rate, learning_rate)

    def step(self, share: float) -> None:
        """Move the weights along their gradients and forget these.

        Args:
            share: of the highest learning rates.
        """
        for part, highest in zip(self._parts, self._highest, strict=True):
            for options in part.param_groups:
                options["lr"] = highest * share
            part.step()
            part.zero_grad(set_to_none=True)

    def state(self) -> list[dict[str, Any]]:
        """Return what :meth:`restore` takes."""
        return [part.state_dict() for part in self._parts]

    def restore(self, state: list[dict[str, Any]]) -> None:
        """Go on as it was when ``state`` was taken."""
        for part, kept in zip(self._parts, state, strict=True):
            part.load_state_dict(kept)
