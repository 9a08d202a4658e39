"""From what a person chose to a model that can step: one checkpoint, safely."""

from __future__ import annotations

import dataclasses
import gc
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.checkpoints import demo, hub, layer_skipping
from core.checkpoints.devices import ALL_GPUS, Placement, free_bytes, place
from core.checkpoints.draft_head import read_draft_head
from core.checkpoints.end_tokens import eos_ids_of, special_ids_of
from core.checkpoints.facts import CheckpointFacts, CheckpointKind
from core.checkpoints.failures import release, translated
from core.checkpoints.hub_cache import is_hub_id, local_snapshot
from core.checkpoints.inspection import inspect_checkpoint
from core.checkpoints.known_strings import require_round_trip
from core.checkpoints.memory import require_room
from core.checkpoints.progress import OnProgress, ShouldStop, Work, ignore, never
from core.checkpoints.quiet import quiet
from core.checkpoints.weights import read_tokenizer, read_weights
from core.config import ModelConfig
from core.demo_pair import DRAFT_REFERENCE
from core.runtime.heap import keep_small_memory
from core.runtime.runner import Model

_FROM_THE_DEMO = (
    demo.DEMO_REFERENCE,
    layer_skipping.LAYERS_REFERENCE,
    DRAFT_REFERENCE,
)


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A checkpoint in memory.

    Attributes:
        model: what runners are made from; ``model.facts`` describes it in events.
        tokenizer: of transformers.
        facts: what the checkpoint is.
        eos_ids: every id that ends a text (generation config, config, tokenizer).
        special_ids: control tokens, which are not shown as text.
        context_length: positions that the model was made for.
        vocabulary_size: ids that may be emitted: known to the tokenizer and the head.
        head_rows: rows of the output head, padding included.
        head_ids: the ids that its logits stand for, rising; None for every id in turn.
        device: where it is.
        dtype: of its weights.
    """

    model: Model
    tokenizer: Any
    facts: CheckpointFacts
    eos_ids: tuple[int, ...]
    special_ids: frozenset[int]
    context_length: int
    vocabulary_size: int
    head_rows: int
    device: str
    dtype: str
    head_ids: tuple[int, ...] | None = None

    def serves(self, *, drafts: bool) -> bool:
        """Return whether it is loaded as a target, or a draft, would be."""
        sliced = self.head_ids is not None
        return sliced == (drafts and self.facts.draft_head_size > 0)


def load_model(
    config: ModelConfig,
    on_progress: OnProgress = ignore,
    should_stop: ShouldStop = never,
    *,
    allow_download: bool = False,
    drafts: bool = False,
) -> LoadedModel:
    """Load the checkpoint that ``config`` names.

    Args:
        config: which checkpoint, where and how.
        on_progress: told every stage.
        should_stop: asked between the stages.
        allow_download: fetch it if it is not on this machine. Without it the network is
            never touched.
        drafts: it will propose only, so its head may be cut to the ids it names.

    Raises:
        Cancelled: if the person asked to stop; the memory is given back.
        ConfigurationError: for a device or dtype that is not there.
        ModelLoadError: if it is not here, broken, or cannot be decoded here.
        DeviceMemoryError: if it does not fit.
    """
    keep_small_memory()
    work = Work(on_progress, should_stop)
    work.report("Looking at the checkpoint", None, config.reference)
    placement = place(config)
    if allow_download:
        fetch(config.reference, work)
    facts = inspect_checkpoint(config.reference)
    free = free_bytes(ALL_GPUS if placement.spread else placement.device)
    require_room(facts, placement.dtype, placement.device, free)
    try:
        with translated(facts, placement):
            return _load(facts, placement, work, drafts)
    except BaseException as error:
        # A traceback keeps every frame's tensors alive for as long as the error lives.
        release(error)
        raise


def fetch(reference: str, work: Work) -> None:
    """Fetch what ``reference`` names, if it is not on this machine yet.

    Raises:
        Cancelled: if the person asked to stop.
        ModelLoadError: if it cannot be fetched.
    """
    if reference in _FROM_THE_DEMO:
        demo.fetch_demo(work.on_progress, work.should_stop)
    elif _is_missing(reference):
        hub.download_checkpoint(reference, work)


def _is_missing(reference: str) -> bool:
    if Path(reference).expanduser().exists() or not is_hub_id(reference):
        return False
    return local_snapshot(reference) is None or not _is_complete(reference)


def _is_complete(reference: str) -> bool:
    """Return whether a cached snapshot has all it needs; an unfit one has, too."""
    from core.errors import ModelLoadError, UnsupportedModelError

    try:
        inspect_checkpoint(reference)
    except UnsupportedModelError:
        return True
    except ModelLoadError:
        return False
    return True


def _load(
    facts: CheckpointFacts, placement: Placement, work: Work, drafts: bool
) -> LoadedModel:
    from core.runtime.models import wrap_model
    from core.runtime.stateful_model import StatefulModel

    if facts.kind is CheckpointKind.DEMO and not facts.path:
        facts = _derive(facts, work)
    work.report("Reading the tokenizer", None, facts.name)
    tokenizer = read_tokenizer(facts)
    require_round_trip(facts, tokenizer)
    work.report("Reading the weights", None, facts.name)
    hf_model = read_weights(facts, placement)
    head_rows = hf_model.get_output_embeddings().weight.shape[0]
    vocabulary_size = min(facts.tokenizer_size, head_rows)
    head_ids = _head_ids(facts, hf_model, vocabulary_size) if drafts else None
    work.check()
    with quiet():  # some families advise of faster packages at their first step
        model = wrap_model(
            hf_model,
            name=facts.name,
            reference=facts.reference,
            vocabulary_size=vocabulary_size,
            device=placement.device,
            dtype=placement.dtype,
            head_ids=head_ids,
            progress=work.report,
        )
    work.check()
    kind = model.layer_kind if isinstance(model, StatefulModel) else ""
    return LoadedModel(
        model=model,
        tokenizer=tokenizer,
        facts=dataclasses.replace(facts, plain_only=facts.plain_only or kind),
        eos_ids=eos_ids_of(hf_model, tokenizer, vocabulary_size),
        special_ids=special_ids_of(tokenizer),
        context_length=model.facts.context_length,
        vocabulary_size=vocabulary_size,
        head_rows=head_rows,
        device=placement.device,
        dtype=placement.dtype,
        head_ids=head_ids,
    )


def _head_ids(
    facts: CheckpointFacts, hf_model: Any, vocabulary_size: int
) -> tuple[int, ...] | None:
    from core.runtime.sliced_head import can_slice

    if not can_slice(hf_model):
        return None
    return read_draft_head(Path(facts.path), vocabulary_size)


def _derive(facts: CheckpointFacts, work: Work) -> CheckpointFacts:
    """Slice the layer-skipped draft out of the demo target, which is here."""
    target = demo.local_demo()
    if target is None:
        raise demo.not_here(facts.reference)
    layer_skipping.derive_layer_skipped(target, work.on_progress, work.should_stop)
    gc.collect()
    return inspect_checkpoint(facts.reference)
