"""Fetching a checkpoint from the model hub, when the person asked for it.

The hub library cannot cancel a transfer that runs, so it runs in a child process; what
it has fetched so far stays in its cache and is resumed the next time.
"""

from __future__ import annotations

import multiprocessing
import re
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from core.checkpoints.cache import require_space
from core.checkpoints.hub_cache import hub_cache_folder, local_snapshot, offline
from core.checkpoints.progress import Work
from core.errors import ModelLoadError

_POLL_SECONDS = 0.2
_ONLY = ["*.json", "*.safetensors", "*.jinja", "*.txt", "tokenizer.model", "README.md"]
# Subfolders hold other formats of the same model; "consolidated" is a second copy.
_NEVER = ["*/*", "consolidated*"]
_GONE = ("RepositoryNotFound", "RevisionNotFound", "GatedRepo", "HFValidation")


def download_checkpoint(hub_id: str, work: Work) -> Path:
    """Fetch the files of ``hub_id`` that loading needs and return their folder.

    Raises:
        Cancelled: if the person asked to stop.
        ModelLoadError: offline, without a network, or if there is no such model.
    """
    _require_network(hub_id)
    work.report(f"Asking for the size of {hub_id}")
    sizes = _in_child(_list_files, hub_id, work, lambda: None)
    _check_files(hub_id, sizes)
    missing = sum(size for _, size, cached in sizes if not cached)
    require_space(hub_cache_folder(), missing, f"The model {hub_id}")
    blobs = hub_cache_folder() / f"models--{hub_id.replace('/', '--')}" / "blobs"
    before = _folder_bytes(blobs)
    stage = f"Fetching {hub_id}"

    def report() -> None:
        work.report_bytes(stage, max(0, _folder_bytes(blobs) - before), missing)

    _in_child(_fetch_files, hub_id, work, report)
    folder = local_snapshot(hub_id)
    if folder is None:
        raise _failed(hub_id, "the files did not arrive", "")
    return folder


def download_size(hub_id: str, work: Work) -> int:
    """Return how many bytes fetching ``hub_id`` would take; asks the hub.

    Raises:
        Cancelled: if the person asked to stop.
        ModelLoadError: offline, without a network, or if there is no such model.
    """
    _require_network(hub_id)
    sizes = _in_child(_list_files, hub_id, work, lambda: None)
    return sum(size for _, size, cached in sizes if not cached)


def _require_network(hub_id: str) -> None:
    if offline():
        raise ModelLoadError(
            f"The model {hub_id} is not on this machine and the network is off "
            "(HF_HUB_OFFLINE); switch it on or choose a folder.",
            reference=hub_id,
        )


def _in_child(
    target: Callable[[str, str, Connection], None],
    hub_id: str,
    work: Work,
    report: Callable[[], None],
) -> Any:
    """Run ``target`` in a child process and return what it sends."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(
        target=target, args=(hub_id, str(hub_cache_folder()), theirs), daemon=True
    )
    child.start()
    theirs.close()
    try:
        while not ours.poll(_POLL_SECONDS):
            work.check()
            report()
        good, answer = ours.recv()
    except EOFError as error:
        raise _failed(hub_id, "the transfer ended by itself", "") from error
    finally:
        child.kill()
        child.join()
        ours.close()
    if not good:
        raise _failed(hub_id, *answer)
    return answer


def _list_files(hub_id: str, cache: str, answer: Connection) -> None:
    """In the child: send the (name, bytes, is here) of every needed file."""

    def ask() -> list[tuple[str, int, bool]]:
        found: Any = _snapshot(hub_id, cache, dry_run=True)
        return [(f.filename, f.file_size or 0, f.is_cached) for f in found]

    _answer(ask, answer)


def _fetch_files(hub_id: str, cache: str, answer: Connection) -> None:
    """In the child: fetch, then send the folder."""
    _answer(lambda: str(_snapshot(hub_id, cache, dry_run=False)), answer)


def _snapshot(hub_id: str, cache: str, *, dry_run: bool) -> Any:
    from huggingface_hub import snapshot_download
    from huggingface_hub.utils import disable_progress_bars

    disable_progress_bars()
    return snapshot_download(
        hub_id,
        cache_dir=cache,
        allow_patterns=_ONLY,
        ignore_patterns=_NEVER,
        dry_run=dry_run,  # pyright: ignore[reportArgumentType]
    )


def _answer(ask: Callable[[], Any], answer: Connection) -> None:
    try:
        answer.send((True, ask()))
    except Exception as error:  # becomes a sentence on the other side
        answer.send((False, (type(error).__name__, str(error))))


def _check_files(hub_id: str, sizes: list[tuple[str, int, bool]]) -> None:
    if not any(name.endswith(".safetensors") for name, _, _ in sizes):
        raise ModelLoadError(
            f"The model {hub_id} has no safetensors weights on the hub; choose another "
            "version of it, or a GGUF file.",
            reference=hub_id,
        )


def _failed(hub_id: str, kind: str, message: str) -> ModelLoadError:
    detail = re.sub(r"hf_\w+", "…", message)
    if any(word in kind for word in _GONE):
        return ModelLoadError(
            f"The hub has no model {hub_id} that you may read; check its name, or log "
            "in if it needs permission.",
            detail=detail,
            reference=hub_id,
        )
    return ModelLoadError(
        f"The model {hub_id} could not be fetched; check the network and try again, "
        "what has arrived is kept.",
        detail=f"{kind}: {detail}",
        reference=hub_id,
    )


def _folder_bytes(folder: Path) -> int:
    total = 0
    for path in folder.glob("*"):
        try:
            total += path.stat().st_size
        except OSError:  # renamed while we looked
            continue
    return total
