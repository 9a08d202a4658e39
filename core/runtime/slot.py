"""Buffers for one sequence and the steps over them, recorded at a few widths.

A step of n rows runs in the next width of ``WIDTHS``; the rows behind the n-th are
padding, written where the next tokens will go anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from core.events import ModelFacts
from core.runtime.captured_graphs import Recorder, Work
from core.runtime.kv_cache import LayerShape
from core.runtime.slot_sizes import slot_rows
from core.runtime.static_cache import StaticLayer, static_buffers, visible_keys
from core.runtime.transformers_model import MAX_ROWS, Calling

WIDTHS = (1, 2, 3, 5, 9, 17)
OnFraction = Callable[[float], None]


class Slot:
    """A static cache and a recorded step of each width over it.

    Args:
        module: the transformers model.
        calling: how to call it.
        shapes: per layer what it writes into the cache.
        facts: of the model.
        capacity: tokens that fit.
        recorder: records the steps.
        on_fraction: told how much is recorded, 0 to 1.
    """

    def __init__(
        self,
        module: PreTrainedModel,
        calling: Calling,
        shapes: Sequence[LayerShape | None],
        facts: ModelFacts,
        capacity: int,
        recorder: Recorder,
        on_fraction: OnFraction = lambda fraction: None,
    ) -> None:
        self.capacity = capacity
        self.device = next(module.get_input_embeddings().parameters()).device
        self._module, self._calling = module, calling
        self._last_position = facts.context_length - 1
        self._rows = slot_rows(capacity)
        self._windows = _windows(module, calling)
        self._dtype = next(shape.dtype for shape in shapes if shape)
        with torch.inference_mode(False):  # or nobody outside of it could write them
            self._cache, self._places = static_buffers(
                self._rows, shapes, calling.sliding
            )
            self._start = torch.zeros(1, dtype=torch.long, device=self.device)
            self._ids = torch.zeros(1, MAX_ROWS, dtype=torch.long, device=self.device)
            width = _head_rows(module, calling)
            self._logits = torch.zeros(
                MAX_ROWS, width, dtype=torch.float32, device=self.device
            )
        self._steps: dict[int, Work] = {}
        for width in WIDTHS:
            on_fraction(len(self._steps) / len(WIDTHS))
            self._steps[width] = self._record(width, recorder)
        self.clear()  # a recording writes rows when it warms up

    @torch.inference_mode()
    def _record(self, width: int, recorder: Recorder) -> Work:
        def work() -> None:
            rows = self._forward(self._ids[:, :width])  # [width, V]
            self._logits[:width].copy_(rows[:, : self._logits.shape[1]])

        return recorder(work)

    def _forward(self, ids: Tensor, **options: Any) -> Tensor:
        """Return the [n, V] logits of ``ids`` [1, n] from the start position on."""
        count = torch.arange(ids.shape[1], device=self.device)
        self._places.positions = positions = self._start + count  # [n]
        options |= {self._calling.cache_argument: self._cache}
        # A padded row may lie behind the last position that the model knows.
        known = positions.clamp(max=self._last_position)[None]  # [1, n]
        return self._module(
            input_ids=ids,
            position_ids=known,
            attention_mask=self._masks(positions),
            use_cache=True,
            **options,
        ).logits[0]

    def _masks(self, positions: Tensor) -> Tensor | dict[str, Tensor]:
        """Return one mask, or one of each kind where layers differ."""
        masks = {
            kind: visible_keys(positions, self._rows, window, self._dtype)
            for kind, window in self._windows.items()
        }
        return masks if len(masks) > 1 else next(iter(masks.values()))

    def clear(self) -> None:
        """Forget what a run left: if it broke, NaN perhaps, which no mask hides."""
        for layer in self._cache.layers:
            if isinstance(layer, StaticLayer):
                layer.clear()

    @torch.inference_mode()
    def read(self, ids: Sequence[int], start: int) -> None:
        """Read a chunk of a prompt from position ``start`` on, without a recording."""
        self._start.fill_(start)
        last = {"logits_to_keep": 1} if self._calling.keeps_last_logits else {}
        self._forward(torch.tensor([list(ids)], device=self.device), **last)

    @torch.inference_mode()
    def step(self, ids: Sequence[int] | Tensor, start: int) -> Tensor:
        """Step over ``ids`` from position ``start`` on; their [n, V] logits."""
        rows = len(ids)
        self._start.fill_(start)
        self._ids[0, :rows].copy_(self._on_device(ids), non_blocking=True)
        self._steps[next(w for w in WIDTHS if w >= rows)]()
        return self._logits[:rows]

    def _on_device(self, ids: Sequence[int] | Tensor) -> Tensor:
        if isinstance(ids, Tensor):
            return ids
        # Pinned memory is copied behind Python's back, in the order of the stream.
        pinned = self.device.type == "cuda"
        return torch.tensor(list(ids), dtype=torch.long, pin_memory=pinned)


def _head_rows(module: PreTrainedModel, calling: Calling) -> int:
    """Return the logits of a row; a draft's head may be sliced."""
    head = module.get_output_embeddings()
    assert head is not None
    return min(calling.head_rows, head.weight.shape[0])


def _windows(module: PreTrainedModel, calling: Calling) -> dict[str, int | None]:
    """Return the window of each kind of layer that the model has."""
    config = module.config.get_text_config(decoder=True)
    window = getattr(config, "sliding_window", None)
    kinds = {bool(slides) for slides in calling.sliding if slides is not None}
    known = {"full_attention": None, "sliding_attention": window}
    return {
        kind: known[kind]
        for slides, kind in ((False, "full_attention"), (True, "sliding_attention"))
        if slides in kinds
    }
