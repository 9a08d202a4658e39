"""Texts that a target wrote, kept on disk batch by batch."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from core.checkpoints.devices import free_bytes
from core.config import DecodingRequest
from core.decoding.prompting import encode_prompt
from core.distillation.collecting import (
    Batch,
    CollectingSettings,
    Texts,
    collect,
    plan_batches,
)
from core.distillation.prompts import TrainingPrompt
from core.distillation.source import Source
from core.distillation.store import TextStore
from core.errors import ConfigurationError, DeviceMemoryError

LONGEST_PROMPT = 512  # ids; a batch of longer ones would take the memory of many
LEAST_TOKENS = 32  # of a text that is cut because the time is up
OnToken = Callable[[int, Batch], None]


class Collection:
    """Texts of one kind of prompts (to learn from, or held out), on disk.

    Args:
        source: the target.
        prompts: of both kinds; the indices in the texts are theirs.
        settings: how texts are drawn.
        folder: where they lie.
        held_out: which kind.
    """

    def __init__(
        self,
        source: Source,
        prompts: Sequence[TrainingPrompt],
        settings: CollectingSettings,
        folder: Path,
        *,
        held_out: bool,
    ) -> None:
        rows = min(settings.rows, _fitting_rows(source, settings))
        self._source = source
        self._settings = dataclasses.replace(settings, rows=rows)
        mine = [i for i, p in enumerate(prompts) if p.held_out == held_out]
        ids = encoded(source, [prompts[i] for i in mine], settings)
        self._indices = [i for i, x in zip(mine, ids, strict=True) if x]
        self._ids = [x for x in ids if x]
        self.store = TextStore(folder, {"held_out": held_out})
        self.tokens = sum(texts.num_tokens for texts in self.store.all())

    def grow(
        self,
        should_stop: Callable[[], bool],
        time_is_up: Callable[[], bool],
        on_token: OnToken,
    ) -> Iterator[int]:
        """Add batch after batch; yield all tokens so far after each.

        Args:
            should_stop: asked before every token; the batch at hand is lost.
            time_is_up: asked once texts are long enough; they end there and are kept.
            on_token: told the token's number in its batch, and the batch.
        """
        here = set(self.store.indices())
        for batch in plan_batches(self._ids, self._settings):
            if batch.index not in here:
                texts = self._collect(batch, should_stop, time_is_up, on_token)
                if texts is None:
                    return
                self.store.add(batch.index, self._numbered(texts))
                self.tokens += texts.num_tokens
                yield self.tokens

    def _collect(
        self,
        batch: Batch,
        should_stop: Callable[[], bool],
        time_is_up: Callable[[], bool],
        on_token: OnToken,
    ) -> Texts | None:
        done = 0

        def asked() -> bool:
            nonlocal done
            on_token(done, batch)
            done += 1
            return should_stop()

        def is_late() -> bool:
            return done > LEAST_TOKENS and time_is_up()

        source, settings = self._source, self._settings
        try:
            return collect(
                source.module, batch, settings, source.eos_ids, asked, is_late
            )
        except (torch.OutOfMemoryError, MemoryError) as error:
            raise _no_memory(source, len(batch.prompts)) from error

    def _numbered(self, texts: Texts) -> Texts:
        """Return the texts with prompts counted in the whole library."""
        places = torch.tensor(self._indices)[texts.prompts]
        return dataclasses.replace(texts, prompts=places)


def encoded(
    source: Source, prompts: Sequence[TrainingPrompt], settings: CollectingSettings
) -> list[tuple[int, ...]]:
    """Return the ids of each prompt; empty where it is too long.

    Raises:
        ConfigurationError: if all are.
    """
    limit = source.facts.context_length - settings.max_new_tokens
    limit = min(LONGEST_PROMPT, limit)
    found = [_encode(source.tokenizer, prompt) for prompt in prompts]
    kept = [ids if len(ids) <= limit else () for ids in found]
    if not any(kept):
        raise ConfigurationError(
            f"All {len(prompts)} prompts have more than {limit} tokens; give shorter "
            "ones.",
            limit=limit,
        )
    return kept


def _encode(tokenizer: Any, prompt: TrainingPrompt) -> tuple[int, ...]:
    request = DecodingRequest("distill", prompt.text, use_chat_template=prompt.chat)
    return encode_prompt(tokenizer, request)


def _fitting_rows(source: Source, settings: CollectingSettings) -> int:
    """Return how many texts may grow together: half of the free memory at most."""
    each = 4 * source.facts.cache_values_per_token
    each *= LONGEST_PROMPT + settings.max_new_tokens
    return max(1, free_bytes(str(source.module.device)) // 2 // max(1, each))


def _no_memory(source: Source, rows: int) -> DeviceMemoryError:
    return DeviceMemoryError(
        f"The memory ran out while {source.facts.name} wrote {rows} texts at a time; "
        "close other programs and resume, or choose another device.",
        rows=rows,
    )
