"""The target as a source of texts: its module, tokenizer and prompts."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear

from core.checkpoints.devices import Placement, free_bytes, place
from core.checkpoints.end_tokens import eos_ids_of
from core.checkpoints.facts import CheckpointFacts
from core.checkpoints.failures import translated
from core.checkpoints.memory import require_room
from core.checkpoints.weights import read_tokenizer, read_weights
from core.config import DecodingRequest, ModelConfig
from core.decoding.prompting import encode_prompt
from core.distillation.batch_cache import ATTENTION
from core.distillation.collecting import (
    Batch,
    CollectingSettings,
    Texts,
    collect,
    plan_batches,
)
from core.distillation.prompts import TrainingPrompt
from core.distillation.store import TextStore
from core.errors import (
    ConfigurationError,
    DeviceMemoryError,
    UnsupportedModelError,
)
from core.runtime import threads

LONGEST_PROMPT = 512  # ids; a batch of longer ones would take the memory of many
_TRIES = 5
OnToken = Callable[[int, Batch], None]


@dataclass(frozen=True, slots=True)
class Source:
    """A target that writes texts.

    Attributes:
        facts: what the checkpoint is.
        module: of transformers, with the attention that collecting needs.
        tokenizer: of transformers.
        eos_ids: that end a text.
        vocabulary_size: ids that may be proposed.
    """

    facts: CheckpointFacts
    module: Any
    tokenizer: Any
    eos_ids: tuple[int, ...]
    vocabulary_size: int

    def embeddings(self) -> Tensor:
        """Return [V, width] embeddings in float32 on the CPU."""
        return self.module.get_input_embeddings().weight.detach().float().cpu()

    @property
    def config(self) -> Any:
        """The text decoder's configuration."""
        return self.module.config.get_text_config(decoder=True)


def read_source(facts: CheckpointFacts, config: ModelConfig) -> Source:
    """Load the target so that it can write many texts at a time.

    Raises:
        ModelLoadError: if it cannot be read.
        DeviceMemoryError: if it does not fit.
        UnsupportedModelError: if its texts cannot be collected.
    """
    device = place(config).device
    placement = Placement(device, _dtype(config, device))
    require_room(facts, placement.dtype, device, free_bytes(device))
    with translated(facts, placement):
        tokenizer = read_tokenizer(facts)
        module = read_weights(facts, placement)
    _require_parts(module, facts)
    module.set_attn_implementation(ATTENTION)
    rows = module.get_output_embeddings().weight.shape[0]
    vocabulary = min(facts.tokenizer_size, rows)
    ends = eos_ids_of(module, tokenizer, vocabulary)
    return Source(facts, module, tokenizer, ends, vocabulary)


def _dtype(config: ModelConfig, device: str) -> str:
    if config.dtype != "auto" or device != "cpu":
        return place(config).dtype
    return "bfloat16" if _bfloat16_is_faster() else "float32"


def _bfloat16_is_faster() -> bool:
    """Try: some CPUs have units for it, others imitate it slowly."""
    threads.torch_on_all_cores()
    return _product_s(torch.bfloat16) < _product_s(torch.float32)


def _product_s(dtype: torch.dtype) -> float:
    x, w = torch.ones(64, 576, dtype=dtype), torch.ones(1536, 576, dtype=dtype)
    times = []
    for _ in range(_TRIES):
        begin = time.perf_counter()
        linear(x, w)
        times.append(time.perf_counter() - begin)
    return min(times)


def _require_parts(module: Any, facts: CheckpointFacts) -> None:
    parts = all(hasattr(module, name) for name in ("model", "lm_head"))
    if not parts or not module._can_set_attn_implementation():
        raise UnsupportedModelError(
            f"The target {facts.name} is a {facts.architecture} model, whose texts "
            "cannot be collected; choose a Llama-like target.",
            architecture=facts.architecture,
        )


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

    def grow(self, should_stop: Callable[[], bool], on_token: OnToken) -> Iterator[int]:
        """Add batch after batch; yield all tokens so far after each.

        Args:
            should_stop: asked before every token; a batch that is cut short is lost.
            on_token: told the token's number in its batch, and the batch.
        """
        here = set(self.store.indices())
        for batch in plan_batches(self._ids, self._settings):
            if batch.index not in here:
                texts = self._collect(batch, should_stop, on_token)
                if texts is None:
                    return
                self.store.add(batch.index, self._numbered(texts))
                self.tokens += texts.num_tokens
                yield self.tokens

    def _collect(
        self, batch: Batch, should_stop: Callable[[], bool], on_token: OnToken
    ) -> Texts | None:
        done = 0

        def asked() -> bool:
            nonlocal done
            on_token(done, batch)
            done += 1
            return should_stop()

        source, settings = self._source, self._settings
        try:
            return collect(source.module, batch, settings, source.eos_ids, asked)
        except (torch.OutOfMemoryError, MemoryError) as error:
            raise _no_memory(source, len(batch.prompts)) from error

    def _numbered(self, texts: Texts) -> Texts:
        """Return the texts with prompts counted in the whole library."""
        places = torch.tensor(self._indices)[texts.prompts]
        return dataclasses.replace(texts, prompts=places)


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
