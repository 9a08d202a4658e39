"""A cache of fixed shapes, so that a whole step can be recorded once and replayed.

Every layer keeps room for all tokens and hands all of it to attention; which keys count
follows from positions that lie on the device. No shape and no number in a recorded step
depends on how long the sequence is, and rolling back moves an integer. Stale rows are
hidden by the mask until they are overwritten. They are finite numbers: the buffers
start as zeros, since a mask cannot hide a NaN.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from transformers.cache_utils import CacheLayerMixin

from core.runtime.kv_cache import BufferLayer, LayerShape, RewindableCache, no_layer


class Places:
    """Where the tokens of the present step go; one for all layers.

    Attributes:
        positions: [n] int64 on the device.
    """

    def __init__(self, positions: Tensor) -> None:
        self.positions = positions


class StaticLayer(BufferLayer):
    """One layer's keys and values, written at positions and read as a whole.

    Args:
        capacity: tokens that fit.
        shape: what the layer writes.
        places: where it writes next.
        is_sliding: for those who ask; the window is in the mask.
    """

    def __init__(
        self, capacity: int, shape: LayerShape, places: Places, is_sliding: bool
    ) -> None:
        super().__init__(capacity, is_sliding, shape)
        self._places = places
        self.clear()

    @torch.inference_mode()
    def clear(self) -> None:
        """Make all that is stale a number."""
        assert self.keys is not None
        assert self.values is not None
        self.keys.zero_()
        self.values.zero_()

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: object, **kwargs: object
    ) -> tuple[Tensor, Tensor]:
        """Write states at the present positions and return the whole buffers.

        Args:
            key_states: [1, heads, n, width] of the new tokens.
            value_states: [1, heads, n, width] of the new tokens.
            *args: ignored.
            **kwargs: ignored.

        Returns:
            [1, heads, capacity, width] keys and values.
        """
        assert self.keys is not None
        assert self.values is not None
        self.keys.index_copy_(2, self._places.positions, key_states)
        self.values.index_copy_(2, self._places.positions, value_states)
        return self.keys, self.values

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Return how many keys there are, and the first one's position."""
        return self.capacity, 0


def static_buffers(
    capacity: int, shapes: Sequence[LayerShape | None], sliding: Sequence[bool | None]
) -> tuple[RewindableCache, Places]:
    """Return an empty cache, and what tells it where to write.

    Args:
        capacity: tokens that fit.
        shapes: per layer what it writes; None for a layer without a cache.
        sliding: per layer, whether it slides.
    """
    device = next(shape.device for shape in shapes if shape)
    places = Places(torch.zeros(1, dtype=torch.long, device=device))
    layers: list[CacheLayerMixin] = [
        no_layer() if shape is None else StaticLayer(capacity, shape, places, bool(s))
        for shape, s in zip(shapes, sliding, strict=True)
    ]
    return RewindableCache(layers), places


def visible_keys(
    positions: Tensor, capacity: int, window: int | None, dtype: torch.dtype
) -> Tensor:
    """Return what is added to the scores: 0 for keys that count, else the least number.

    Args:
        positions: [n] of the rows.
        capacity: keys in the buffers.
        window: keys that a row sees, itself included; None for all before it.
        dtype: of the scores.

    Returns:
        [1, 1, n, capacity].
    """
    keys = torch.arange(capacity, device=positions.device)  # [capacity]
    hidden = keys > positions[:, None]  # [n, capacity]
    if window is not None:
        hidden |= keys <= positions[:, None] - window
    mask = torch.zeros(hidden.shape, dtype=dtype, device=positions.device)
    return mask.masked_fill_(hidden, torch.finfo(dtype).min)[None, None]
