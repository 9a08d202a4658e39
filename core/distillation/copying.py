"""Teaching a student where to look when a text repeats itself.

Much of what a target writes stands earlier in the text: names, phrases, whole lines,
at temperature 0 half of it. Models learn to copy with *induction heads* (Olsson et al.
2022, arXiv:2209.11895): heads of the first layer tell each place which tokens stand
before it, and later heads look for the place behind the same tokens. Such heads form
late; a student that reads a few million tokens does not get there on its own. So they
are shown where to look. What they make of it is up to the student.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import pad

LONGEST = 5  # tokens; repetitions at least as long count as equally good
_BACK = (1, 2)  # tokens back that the first heads of the first layer look
_LEAST = 1e-4  # a head that looks elsewhere altogether is not pushed harder


def copying_loss(ids: Tensor, lengths: Tensor, attention: Sequence[Tensor]) -> Tensor:
    """Return how far the heads in charge are from looking where they should.

    It is the mean of minus the logarithm of their attention, summed over the heads: one
    and two tokens back in the first layer; in the later half of the layers, for the
    first head of each, behind the longest repetitions of the tokens before. One layer
    alone cannot copy; its loss is zero.

    Args:
        ids: [rows, n], padded.
        lengths: [rows] ids that count.
        attention: of each layer, [rows, heads, n, n].
    """
    if len(attention) < 2:
        return attention[0].new_zeros(())
    real = torch.arange(ids.shape[1], device=ids.device) < lengths[:, None]  # [rows, n]
    first = attention[0]
    losses = [
        _missed(first[:, head].diagonal(-back, 1, 2), real[:, back:])
        for head, back in enumerate(_BACK[: first.shape[1]])
    ]
    wanted = continuations(ids)
    repeated = wanted.any(-1) & real
    for layer in attention[len(attention) // 2 :]:
        losses.append(_missed((layer[:, 0] * wanted).sum(-1), repeated))
    return torch.stack(losses).sum()


def _missed(looked: Tensor, counts: Tensor) -> Tensor:
    """Return the mean of -log ``looked`` over the places that count."""
    found = looked[counts].float()
    return -found.clamp(min=_LEAST).log().sum() / max(1, len(found))


def continuations(ids: Tensor) -> Tensor:
    """Return [rows, n, n]: whether the longest repetition at t goes on with place j.

    Place j does if the tokens before it are those up to t, as many of them as anywhere
    earlier in the text, up to :data:`LONGEST`.

    Args:
        ids: [rows, n].
    """
    same = (ids[:, :, None] == pad(ids, (1, -1), value=-1)[:, None, :]).tril()
    run, length = same, same.to(torch.uint8)
    for _ in range(LONGEST - 1):
        run = pad(run, (1, -1, 1, -1)) & same
        length += run
    return same & (length == length.amax(-1, keepdim=True))
