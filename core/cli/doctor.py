"""``draftrace doctor``: what to paste into a bug report, or a target's best draft."""

from __future__ import annotations

import argparse
import shutil
from typing import Any

import psutil

from core.cli import DONE, doctor_pair, output
from core.codec import encode
from core.demo_pair import shipped_draft
from core.machine import describe_machine, package_version

_PACKAGES = (
    "PySide6-Essentials",
    "pyqtgraph",
    "numpy",
    "numba",
    "accelerate",
    "safetensors",
    "huggingface_hub",
    "gguf",
)


def parser(name: str) -> argparse.ArgumentParser:
    """Return the command's options."""
    made = argparse.ArgumentParser(prog=f"draftrace {name}", description=__doc__)
    made.add_argument("--json", action="store_true", help="print one JSON object")
    doctor_pair.add_options(made)
    return made


def main(options: argparse.Namespace) -> int:
    """Print what is here and what is missing. No names, no paths, no tokens.

    With a target: every checkpoint on this machine as a draft for it.
    """
    if doctor_pair.asked(options):
        return doctor_pair.main(options)
    facts = findings()
    if options.json:
        output.print_json(facts)
        return DONE
    for name, value in facts.items():
        print(f"{name.replace('_', ' '):<22}{_words(value)}")
    return DONE


def findings() -> dict[str, Any]:
    """Return the machine's facts as plain values."""
    devices = _devices()
    facts = encode(describe_machine(devices[0]["name"] if devices else "cpu"))
    return {
        **{k: v for k, v in facts.items() if k != "device"},
        "memory_free_bytes": psutil.virtual_memory().available,
        "disk_free_bytes": _disk_free(),
        "gpus": devices,
        "packages": {name: package_version(name) for name in _PACKAGES},
        "kernels": _kernels(),
        "demo_target": "here" if _demo_present() else "not fetched",
        "demo_draft": "here" if shipped_draft() else "not shipped",
        "missing_libraries": list(_missing_libraries()),
        "cure": _cure(),
    }


def _devices() -> list[dict[str, Any]]:
    import torch

    if not torch.cuda.is_available():
        return []
    found = map(torch.cuda.get_device_properties, range(torch.cuda.device_count()))
    return [{"name": p.name, "memory_bytes": p.total_memory} for p in found]


def _disk_free() -> int:
    from core.checkpoints.cache import cache_root

    folder = cache_root()
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def _kernels() -> str:
    try:
        import core.runtime.kernels  # noqa: F401
    except ImportError as error:
        return f"torch only: {error}"
    return f"numba {package_version('numba')}"


def _demo_present() -> bool:
    from core.checkpoints.demo import local_demo

    return local_demo() is not None


def _missing_libraries() -> tuple[str, ...]:
    from core.system_libraries import missing

    return tuple(missing())


def _cure() -> str:
    from core.system_libraries import apt_line

    absent = _missing_libraries()
    return apt_line(absent) if absent else "nothing is missing"


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k} {v}" for k, v in value.items())
    if isinstance(value, list):
        return ", ".join(map(_words, value)) or "none"
    if isinstance(value, int) and value > 10**6:
        return f"{value / 1e9:.1f} GB"
    return str(value)
