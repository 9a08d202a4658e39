"""The enumerator's branches for rounds that a device decides, played on a CPU.

:mod:`core.lab.enumeration` answers a round's questions to chance one by one; here the
same answers come as tensors, so that the law of these rounds can be summed as well.
"""

from __future__ import annotations

import torch
from torch import Tensor

from core.config import DecodingConfig
from core.decoding import device_round
from core.decoding.speculative import Round, Sequence
from core.lab.enumeration import BranchingDraws
from core.sampling.on_device import Drawn
from core.sampling.streams import Purpose


class BranchingDeviceDraws:
    """One path through every draw of a round, answered with tensors.

    Args:
        draws: whose path it is.

    Attributes:
        on_host: the same, for what is drawn in Python.
    """

    def __init__(self, draws: BranchingDraws) -> None:
        self.on_host = draws

    def choose(self, purpose: Purpose, position: int, weights: Tensor) -> Drawn:
        """Take the path's token in each row of ``weights`` [n, V]."""
        choices = [
            self.on_host.choose(purpose, position + i, row)
            for i, row in enumerate(weights)
        ]
        return Drawn(
            torch.tensor([c.token_id for c in choices]),
            torch.tensor([c.margin for c in choices], dtype=torch.float64),
        )

    def correct(
        self, position: int, place: Tensor, is_bonus: Tensor, weights: Tensor
    ) -> Drawn:
        """Take the path's token after the survivors."""
        purpose = Purpose.TARGET if bool(is_bonus) else Purpose.RESIDUAL
        return self.choose(purpose, position + int(place), weights)

    def survivors(
        self, position: int, draft: Tensor, target: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Take the path's number of survivors."""
        count, numbers = self.on_host.survivors(
            position, draft.tolist(), target.tolist()
        )
        uniforms = torch.zeros(len(draft), dtype=torch.float64)
        uniforms[: len(numbers)] = torch.tensor(numbers, dtype=torch.float64)
        return torch.tensor([count]), uniforms


def play(sequence: Sequence, settings: DecodingConfig, draws: BranchingDraws) -> Round:
    """Play a round as a device would."""
    return device_round.play_round(sequence, settings, BranchingDeviceDraws(draws))
