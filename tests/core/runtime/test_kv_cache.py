"""The cache that is written in place and rewound by an integer."""

from __future__ import annotations

import pytest
import torch

from core.runtime.kv_cache import BufferLayer, buffers


def states(tokens: int, start: int = 0) -> torch.Tensor:
    """Return [1, 2, tokens, 4] states that say which token they belong to."""
    numbers = torch.arange(start, start + tokens, dtype=torch.float32)
    return numbers[None, None, :, None].expand(1, 2, tokens, 4)


def test_truncating_moves_an_integer_and_the_next_write_covers_the_rest():
    cache = buffers(8, [False])
    keys, _ = cache.update(states(5), states(5), 0)
    cache.truncate(2)
    again, values = cache.update(states(3, 70), states(3, 90), 0)
    assert again.data_ptr() == keys.data_ptr()
    assert again[0, 0, :, 0].tolist() == [0, 1, 70, 71, 72]
    assert values[0, 1, :, 3].tolist() == [0, 1, 90, 91, 92]


def test_a_sliding_layer_keeps_every_token_and_says_so_to_the_mask():
    """H8."""
    cache = buffers(64, [True, False])
    for layer in (0, 1):
        cache.update(states(40), states(40), layer)
    assert cache.is_sliding == [True, False]
    assert cache.get_mask_sizes(5, 0) == (45, 0)
    assert cache.get_seq_length(0) == 40


def test_a_layer_without_a_cache_takes_no_memory():
    cache = buffers(8, [False, None])
    cache.update(states(3), states(3), 0)
    cache.truncate(1)
    first, second = cache.shapes()
    assert first is not None
    assert second is None
    assert first.bytes_per_token() == 2 * 2 * 4 * 4


def test_a_full_layer_takes_no_more():
    layer = BufferLayer(4, False)
    layer.update(states(3), states(3))
    with pytest.raises(AssertionError, match="5 tokens in a cache for 4"):
        layer.update(states(2), states(2))
    assert layer.get_max_length() == 4
