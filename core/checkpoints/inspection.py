"""What a checkpoint is, from headers only: no torch, no network, no weights."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from core.checkpoints import demo, layer_skipping
from core.checkpoints.facts import CheckpointFacts, CheckpointKind
from core.checkpoints.folder_inspection import inspect_folder
from core.checkpoints.gguf_inspection import inspect_gguf
from core.checkpoints.hub_cache import is_hub_id, local_snapshot
from core.demo_pair import DRAFT_REFERENCE, shipped_draft
from core.errors import ModelLoadError, UnsupportedModelError

__all__ = ["CheckpointFacts", "CheckpointKind", "inspect_checkpoint"]


def inspect_checkpoint(reference: str | Path) -> CheckpointFacts:
    """Return what the checkpoint behind ``reference`` is.

    Args:
        reference: a folder, a GGUF file, a hub id, ``demo``, ``demo-draft`` or
            ``demo-layers``.

    Raises:
        ModelLoadError: if it is not on this machine, broken or cut short.
        UnsupportedModelError: if it is whole but cannot be decoded here.
    """
    text = str(reference).strip()
    if text in (demo.DEMO_REFERENCE, layer_skipping.LAYERS_REFERENCE):
        return _inspect_demo(text)
    if text == DRAFT_REFERENCE:
        return _inspect_demo_draft()
    path = Path(text).expanduser()
    if text and path.is_dir():
        return dataclasses.replace(inspect_folder(path), reference=text)
    if text and path.is_file():
        return dataclasses.replace(_inspect_file(path), reference=text)
    return _inspect_hub(text, path)


def _inspect_demo(reference: str) -> CheckpointFacts:
    layers = reference == layer_skipping.LAYERS_REFERENCE
    drafted = layer_skipping.local_layer_skipped() if layers else None
    folder = drafted or demo.local_demo()
    if folder is None:
        raise demo.not_here(reference)
    facts = dataclasses.replace(
        inspect_folder(folder), kind=CheckpointKind.DEMO, reference=reference
    )
    if layers and drafted is None:  # it is sliced out of the target when loaded
        return layer_skipping.planned_facts(facts)
    return facts


def _inspect_demo_draft() -> CheckpointFacts:
    """Look at the shipped draft, whose tokenizer is the demo target's."""
    folder, target = shipped_draft(), demo.local_demo()
    if folder is None:
        raise ModelLoadError(
            "This copy of Draftrace comes without a draft for the demo target; choose "
            "prompt lookup or demo-layers.",
            reference=DRAFT_REFERENCE,
        )
    if target is None:
        raise demo.not_here(DRAFT_REFERENCE)
    return dataclasses.replace(
        inspect_folder(folder, target),
        kind=CheckpointKind.DEMO,
        reference=DRAFT_REFERENCE,
        name=f"{demo.DEMO_NAME}-draft",
    )


def _inspect_file(file: Path) -> CheckpointFacts:
    if file.suffix.lower() == ".gguf":
        return inspect_gguf(file)
    if file.suffix.lower() in (".bin", ".pt", ".pth", ".ckpt", ".pkl"):
        raise UnsupportedModelError(
            f"The file {file.name} is a pickle that can run code when it is read; "
            "convert the model to safetensors.",
            file=file.name,
        )
    raise ModelLoadError(
        f"The file {file.name} is no checkpoint by itself; choose its folder or a "
        ".gguf file.",
        file=file.name,
    )


def _inspect_hub(reference: str, path: Path) -> CheckpointFacts:
    """Look in the hub's cache; a path-like text that is nowhere is named as such."""
    folder = local_snapshot(reference) if is_hub_id(reference) else None
    if folder is not None:
        return dataclasses.replace(
            inspect_folder(folder),
            kind=CheckpointKind.HUB,
            reference=reference,
            name=reference.rsplit("/", 1)[-1],
        )
    if is_hub_id(reference) and "/" in reference:
        raise ModelLoadError(
            f"The model {reference} is not on this machine; download it with "
            f"'draftrace get {reference}' or choose a folder.",
            reference=reference,
        )
    raise ModelLoadError(
        f"There is no folder or file {path.name or repr(reference)}; check the path or "
        "choose another checkpoint.",
        reference=reference,
    )
