"""Fetching a model from the hub in the child process: resumed, and checked by hash.

The hub library (2.4) throws away what has arrived of a file when a transfer breaks, and
never compares hashes. So it finds the address, the access token and the files here, and
the bytes are fetched by ourselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from core.checkpoints.families import causal_families
from core.checkpoints.hub_child import Line, patiently
from core.checkpoints.hub_files import (
    HubFile,
    Storage,
    hash_of,
    is_whole,
    needed_files,
)


class Damaged(Exception):
    """A file arrived with another hash than the hub names, twice."""


def list_needed(line: Line, hub_id: str, pauses: tuple[float, ...]) -> list[HubFile]:
    """Return the files that fetching ``hub_id`` would need."""
    return _needed(line, hub_id, pauses)[1]


def fetch_model(
    line: Line, hub_id: str, cache: str, pauses: tuple[float, ...]
) -> str | None:
    """Fetch what is missing of ``hub_id``, check all of it, and return its folder.

    Tells ``files`` (all and the bytes that are missing), waits for consent, then tells
    ``bytes`` as they arrive.
    """
    commit, files = _needed(line, hub_id, pauses)
    storage = Storage(Path(cache) / f"models--{hub_id.replace('/', '--')}", commit)
    (storage.root / "blobs").mkdir(parents=True, exist_ok=True)
    with _alone(storage.root):
        total = sum(file.size for file in files)
        line.tell("checking", total)
        missing = [f for f in files if not is_whole(storage, f, line.add_bytes)]
        kept = sum(_kept(storage, file) for file in missing)
        line.tell("files", files, sum(f.size for f in missing), kept)
        line.consent()
        line.done = kept
        for file in missing:
            _fetch(line, hub_id, storage, file, pauses)
        storage.publish(files)
    return str(storage.snapshot)


def search_models(
    line: Line, text: str, largest: str, pauses: tuple[float, ...]
) -> list[dict[str, Any]]:
    """Return what the hub finds for ``text``, the most fetched first.

    The hub searches names only; a word that names an architecture is asked as a tag.
    """
    from huggingface_hub import HfApi

    words = text.split()
    families = [word.lower() for word in words if word.lower() in causal_families()]
    names = [word for word in words if word.lower() not in families]
    wanted = ["config", "downloads", "gated", "safetensors", "tags"]
    size = {"num_parameters": f"min:0,max:{largest}"} if largest else {}

    def ask() -> list[dict[str, Any]]:
        found = HfApi().list_models(
            search=" ".join(names) or None,
            filter=["safetensors", *families],
            pipeline_tag="text-generation",
            expand=wanted,  # pyright: ignore[reportArgumentType]
            sort="downloads",
            limit=40,
            **size,  # pyright: ignore[reportArgumentType]
        )
        return [_plain(model) for model in found]

    return patiently(line, ask, pauses)


def _plain(model: Any) -> dict[str, Any]:
    """Return what a list shows of one model, in values that a pipe carries."""
    tags = model.tags or []
    licences = (t.removeprefix("license:") for t in tags if t.startswith("license:"))
    return {
        "reference": model.id,
        "architecture": (model.config or {}).get("model_type", ""),
        "num_parameters": getattr(model.safetensors, "total", 0) or 0,
        "licence": next(licences, ""),
        "gated": bool(model.gated),
        "downloads": model.downloads or 0,
    }


def _needed(
    line: Line, hub_id: str, pauses: tuple[float, ...]
) -> tuple[str, list[HubFile]]:
    from huggingface_hub import HfApi

    def ask() -> Any:
        return HfApi().model_info(hub_id, files_metadata=True)

    info = patiently(line, ask, pauses)
    return str(info.sha), needed_files(info.siblings or [])


def _fetch(
    line: Line,
    hub_id: str,
    storage: Storage,
    file: HubFile,
    pauses: tuple[float, ...],
) -> None:
    """Fetch one file until its hash is right; a damaged one is fetched once more."""
    partial = storage.partial(file)
    for _ in range(2):
        patiently(line, lambda: _receive(line, hub_id, storage, file), pauses)
        if hash_of(partial, file, lambda number: None):
            partial.replace(storage.blob(file))
            return
        partial.unlink()
        line.done -= file.size
        line.tell("again", file.name)
    raise Damaged(file.name)


def _receive(line: Line, hub_id: str, storage: Storage, file: HubFile) -> None:
    """Append to what has arrived of ``file`` until it is complete."""
    from huggingface_hub import constants, hf_hub_url
    from huggingface_hub.utils import build_hf_headers, get_session, hf_raise_for_status

    have = _kept(storage, file)
    if have >= file.size:
        storage.partial(file).touch()
        return
    headers = {**build_hf_headers(), "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    url = hf_hub_url(hub_id, file.name, revision=storage.commit)
    with get_session().stream(
        "GET",
        url,
        headers=headers,
        follow_redirects=True,
        timeout=constants.HF_HUB_DOWNLOAD_TIMEOUT,
    ) as response:
        if response.status_code >= 400:
            response.read()
        hf_raise_for_status(response)
        if have and response.status_code != 206:  # it sends all of it again
            line.done -= have
            have = 0
        with storage.partial(file).open("ab" if have else "wb") as out:
            for chunk in response.iter_raw():
                out.write(chunk)
                line.add_bytes(len(chunk))
    if _kept(storage, file) < file.size:
        raise ConnectionError("the connection ended before the file did")


def _kept(storage: Storage, file: HubFile) -> int:
    """Return how many bytes of ``file`` have arrived; too many count as none."""
    try:
        size = storage.partial(file).stat().st_size
    except FileNotFoundError:
        return 0
    if size > file.size:
        storage.partial(file).unlink()
        return 0
    return size


@contextmanager
def _alone(root: Path) -> Iterator[None]:
    """Keep a second program from fetching the same model meanwhile."""
    from huggingface_hub.utils import WeakFileLock

    with WeakFileLock(root / ".draftrace.lock"):
        yield
