"""What the numbers were measured on: no host name, no user name, no path.

Versions are read from the packages' metadata, so that describing the machine does not
import torch.
"""

from __future__ import annotations

import platform
import re
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

from core.events import Machine

UNKNOWN = "unknown"


def describe_machine(device: str) -> Machine:
    """Return the facts of this machine.

    Args:
        device: where the models run, in words, for example ``cpu``.
    """
    return Machine(
        system=system_name(),
        processor=processor_name(),
        num_cores=psutil.cpu_count(logical=False) or psutil.cpu_count() or 1,
        memory_bytes=psutil.virtual_memory().total,
        device=device,
        python=platform.python_version(),
        torch=package_version("torch"),
        transformers=package_version("transformers"),
        draftrace=package_version("draftrace"),
    )


def package_version(name: str) -> str:
    """Return the version of an installed package, or ``unknown``."""
    try:
        return version(name)
    except PackageNotFoundError:
        return UNKNOWN


@cache
def system_name() -> str:
    """Return the system and its architecture, for example ``Debian 12, x86_64``."""
    return f"{_system()}, {platform.machine()}"


def _system() -> str:
    if platform.system() == "Darwin":
        return f"macOS {platform.mac_ver()[0]}"
    if platform.system() != "Linux":
        return f"{platform.system()} {platform.release()}"
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return "Linux"


@cache
def processor_name() -> str:
    """Return the processor's name as its maker writes it, or its architecture."""
    if platform.system() == "Linux":
        found = _from_cpuinfo()
    elif platform.system() == "Darwin":
        found = _from_sysctl()
    else:
        found = platform.processor()
    return " ".join(found.split()) or platform.machine()


def _from_cpuinfo() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    found = re.search(r"^(?:model name|Hardware|Model)\s*:\s*(.+)$", text, re.MULTILINE)
    return found[1] if found else ""


def _from_sysctl() -> str:
    command = ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout
