"""Fetching a checkpoint from the model hub, when the person asked for it.

A transfer that runs cannot be cancelled from outside, so it runs in a child process
that can be ended at any time; what has arrived stays and is resumed the next time.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from core.checkpoints import hub_child, hub_transfer
from core.checkpoints.cache import require_space
from core.checkpoints.children import deaf_to_ctrl_c
from core.checkpoints.hub_cache import hub_cache_folder, offline
from core.checkpoints.hub_failures import hub_failure, not_asked
from core.checkpoints.hub_files import HubFile
from core.checkpoints.progress import Work, megabytes
from core.errors import ModelLoadError

_POLL_SECONDS = 0.2
PAUSES = (1.0, 2.0, 4.0, 8.0)  # seconds before each new try; bytes begin them anew


@dataclass(frozen=True, slots=True)
class HubModel:
    """A model that the hub found.

    Attributes:
        reference: its id, which loading takes.
        architecture: the model type, or an empty string.
        num_parameters: numbers stored in its safetensors, or 0 if the hub does not say.
        licence: as its page names it, or an empty string.
        gated: its terms must be accepted on its page first.
        downloads: in the last month.
    """

    reference: str
    architecture: str
    num_parameters: int
    licence: str
    gated: bool
    downloads: int


def download_checkpoint(hub_id: str, work: Work) -> Path:
    """Fetch the files of ``hub_id`` that loading needs and return their folder.

    Every file is checked by its hash, also one that was here already; a damaged one is
    fetched again.

    Raises:
        Cancelled: if the person asked to stop.
        ModelLoadError: offline, without room, or if the hub does not give it.
    """
    what = f"The model {hub_id}"
    _require_network(what)
    work.report(f"Asking the hub for {hub_id}")
    fetching = _Fetching(hub_id, work)
    folder = _ask_child(
        what,
        hub_transfer.fetch_model,
        (hub_id, str(hub_cache_folder()), PAUSES),
        work,
        fetching.on_message,
    )
    return Path(folder)


def download_size(hub_id: str, work: Work) -> int:
    """Return how many bytes the files of ``hub_id`` take; asks the hub.

    Raises:
        Cancelled: if the person asked to stop.
        ModelLoadError: offline, or if the hub does not tell.
    """
    what = f"The model {hub_id}"
    _require_network(what)
    files = _ask_child(what, hub_transfer.list_needed, (hub_id, PAUSES), work)
    _require_weights(hub_id, files)
    return sum(file.size for file in files)


def search_hub(text: str, work: Work, *, largest: str = "") -> tuple[HubModel, ...]:
    """Return the text generators with safetensors that the hub finds.

    Args:
        text: part of a name.
        work: told when the hub makes us wait; asked whether to go on.
        largest: a number of parameters as the hub writes it, for example ``1B``.

    Raises:
        Cancelled: if the person asked to stop.
        ModelLoadError: offline, or if the hub does not answer.
    """
    what = f"The list of models for {text!r}"
    _require_network(what)
    arguments = (text, largest, PAUSES)
    found = _ask_child(what, hub_transfer.search_models, arguments, work)
    return tuple(HubModel(**model) for model in found)


class _Fetching:
    """Turns what the child tells into progress in bytes and time."""

    def __init__(self, hub_id: str, work: Work) -> None:
        self._hub_id, self._work = hub_id, work
        self._total = self._checking = 0
        self._rate = Rate()

    def on_message(self, pipe: Connection, kind: str, *values: Any) -> None:
        """Report one message; consent to fetching once there is room for it."""
        match kind:
            case "checking":
                (self._checking,) = values
            case "files":
                files, missing, kept = values
                self._on_files(pipe, files, missing, kept)
            case "bytes":
                self._report(values[0])
            case "waiting":
                seconds = f"trying again in {values[0]:.0f} s"
                self._work.report("The hub does not answer", None, seconds)
            case "again":
                self._work.report(f"{values[0]} arrived damaged; fetching it again")

    def _on_files(
        self, pipe: Connection, files: list[HubFile], missing: int, kept: int
    ) -> None:
        _require_weights(self._hub_id, files)
        require_space(hub_cache_folder(), missing - kept, f"The model {self._hub_id}")
        self._total = missing
        self._rate = Rate(kept)
        pipe.send(True)

    def _report(self, done: int) -> None:
        if not self._total:
            self._work.report_bytes("Checking what is here", done, self._checking)
            return
        fraction = min(1.0, done / self._total)
        sizes = f"{megabytes(done)} of {megabytes(self._total)}"
        detail = f"{sizes}{self._rate.words(done, self._total)}"
        self._work.report(f"Fetching {self._hub_id}", fraction, detail)


class Rate:
    """How fast bytes arrive, and when the rest will be here."""

    def __init__(self, kept: int = 0, now: float | None = None) -> None:
        self._kept = kept
        self._began = time.monotonic() if now is None else now

    def words(self, done: int, total: int, now: float | None = None) -> str:
        """Return rate and time left as people read them; nothing in the first second.

        Bytes that were here before do not count as fast.
        """
        passed = (time.monotonic() if now is None else now) - self._began
        if passed < 1.0 or done <= self._kept:
            return ""
        rate = (done - self._kept) / passed
        return (
            f" · {megabytes(round(rate))}/s · {_duration((total - done) / rate)} left"
        )


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _require_network(what: str) -> None:
    if offline():
        raise not_asked(what)


def _require_weights(hub_id: str, files: Iterable[HubFile]) -> None:
    if not any(file.name.endswith(".safetensors") for file in files):
        raise ModelLoadError(
            f"The model {hub_id} has no safetensors weights on the hub; choose another "
            "version of it, or a GGUF file.",
            reference=hub_id,
        )


def _ignore(pipe: Connection, kind: str, *values: Any) -> None:
    """Take what the child tells and do nothing."""


def _ask_child(
    what: str,
    question: Callable[..., Any],
    arguments: tuple[Any, ...],
    work: Work,
    on_message: Callable[..., None] = _ignore,
) -> Any:
    """Run ``question`` in a child process, which is ended in any case."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    child = context.Process(
        target=hub_child.serve, args=(question, theirs, arguments), daemon=True
    )
    with deaf_to_ctrl_c():
        child.start()
    theirs.close()
    try:
        return _listen(what, ours, work, on_message)
    finally:
        child.kill()
        child.join()
        ours.close()


def _listen(
    what: str, pipe: Connection, work: Work, on_message: Callable[..., None]
) -> Any:
    while True:
        work.check()
        if not pipe.poll(_POLL_SECONDS):
            continue
        try:
            kind, *values = pipe.recv()
        except (EOFError, ConnectionError) as error:
            raise hub_failure(what, ["child ended"], None, "") from error
        if kind == "done":
            return values[0]
        if kind == "failed":
            raise hub_failure(what, *values)
        on_message(pipe, kind, *values)
