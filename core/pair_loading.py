"""From what a person chose to a pair in memory."""

from __future__ import annotations

from dataclasses import replace

from core.checkpoints import loading, pairing
from core.checkpoints.devices import place
from core.checkpoints.facts import CheckpointFacts
from core.checkpoints.inspection import inspect_checkpoint
from core.checkpoints.loading import LoadedModel
from core.checkpoints.plain_only import draft_refusal, target_refusal
from core.checkpoints.progress import Cancelled, Work
from core.config import DrafterKind, ModelConfig, PairConfig
from core.events import LoadProgress
from core.lab.memory_use import libraries_bytes
from core.lab.pair_costs import measure_costs
from core.loaded_pair import LoadedPair


def load_pair(
    wanted: PairConfig, before: LoadedPair | None, work: Work, *, allow_download: bool
) -> LoadedPair | None:
    """Judge the pair, load what is not loaded yet, time its steps.

    Args:
        wanted: what to load.
        before: the pair in memory, whose models are used again.
        work: what to report to, and whether to go on.
        allow_download: fetch what is not on this machine.

    Returns:
        None when cancelled.

    Raises:
        CoreError: if a device is not there, the two do not fit, or one cannot be read.
    """
    try:
        loaded = _read(wanted, before, work, allow_download=allow_download)
    except Cancelled:
        return None
    target, draft = loaded.target, loaded.draft
    if wanted.drafter is DrafterKind.NONE:
        return loaded
    _require_rewindable(target.facts, draft and draft.facts)
    work.on_progress(LoadProgress("Timing the steps"))
    costs = measure_costs(target, draft, loaded.drafter_over, work.should_stop)
    return None if costs is None else replace(loaded, costs=costs)


def _read(
    wanted: PairConfig, before: LoadedPair | None, work: Work, *, allow_download: bool
) -> LoadedPair:
    configs = [wanted.target] if wanted.draft is None else [wanted.target, wanted.draft]
    for config in configs:
        place(config)  # nothing is fetched for a device that is not there
    if allow_download:
        for config in configs:
            loading.fetch(config.reference, work)
    notes = _require_fit(wanted)
    libraries = before.libraries_bytes if before else _held_by_libraries(wanted, work)
    # A target that drafts for itself is one model, not two.
    models = {
        config: _model(config, before, work, drafts=config != wanted.target)
        for config in dict.fromkeys(configs)
    }
    draft = models[wanted.draft] if wanted.draft else None
    return LoadedPair(wanted, models[wanted.target], draft, notes, libraries)


def _held_by_libraries(wanted: PairConfig, work: Work) -> int:
    """Return, for a bench, what the process holds that is not the pair."""
    work.on_progress(LoadProgress("Preparing the kernels"))
    return libraries_bytes(place(wanted.target).device)


def _require_fit(pair: PairConfig) -> tuple[str, ...]:
    """Refuse what cannot be drafted for before a single weight is read.

    Returns:
        Sentences worth knowing about the pair.
    """
    if pair.drafter is DrafterKind.NONE:
        return ()
    target = inspect_checkpoint(pair.target.reference)
    _require_rewindable(target)
    if pair.draft is None:
        return ()
    draft = inspect_checkpoint(pair.draft.reference)
    _require_rewindable(target, draft)
    verdict = pairing.judge_pair(target, draft)
    pairing.require_fit(verdict)
    return verdict.notes


def _require_rewindable(
    target: CheckpointFacts, draft: CheckpointFacts | None = None
) -> None:
    """Refuse to draft where a proposal could not be taken back."""
    if target.plain_only:
        raise target_refusal(target)
    if draft is not None and draft.plain_only:
        raise draft_refusal(draft)


def _model(
    config: ModelConfig, before: LoadedPair | None, work: Work, *, drafts: bool
) -> LoadedModel:
    """Return the model if it is loaded already, else load it."""
    held = before.models.get(config) if before else None
    if held is not None and held.serves(drafts=drafts):
        return held
    stop = work.should_stop
    return loading.load_model(config, work.on_progress, stop, drafts=drafts)
