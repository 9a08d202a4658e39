"""Make the folder .venv: once, again when pyproject.toml changed, else not at all.

Standard library only; must also be readable by a Python that is too old, so that it can
say so.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMP = VENV / "draftrace-stamp.json"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = BIN / ("python.exe" if os.name == "nt" else "python")
VERSIONS = ((3, 13), (3, 12), (3, 11))
TORCH_CHOICES = ("auto", "cpu", "cuda", "default")
PROBE = "import sys, venv, ensurepip; print(*sys.version_info[:2])"


class SetupError(Exception):
    """The environment cannot be made; the text says why and what to try."""


def say(sentence: str) -> None:
    """Tell the person, at once and apart from what other programs print."""
    print(f"draftrace: {sentence}", file=sys.stderr, flush=True)


def suitable(python: str) -> bool:
    """Return whether ``python`` is 3.11 to 3.13 and can make an environment."""
    try:
        done = subprocess.run(
            [python, "-c", PROBE], capture_output=True, text=True, timeout=60
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return done.stdout.split() in [[str(a), str(b)] for a, b in VERSIONS]


def find_python() -> str:
    """Return the running Python if it will do, else the first on PATH that does."""
    if suitable(sys.executable):
        return sys.executable
    here = ".".join(map(str, sys.version_info[:2]))
    for version in VERSIONS:
        found = shutil.which("python{}.{}".format(*version))
        if found and suitable(found):
            say(f"Python {here} cannot make the environment; using {found}.")
            return found
    raise SetupError(
        f"Draftrace needs Python 3.11, 3.12 or 3.13 with venv, and this is Python "
        f"{here}; install one (on Debian: sudo apt-get install python3-venv)."
    )


def prepare(torch: str | None) -> None:
    """Make or refresh .venv unless its stamp says that it is up to date.

    ``torch`` is one of TORCH_CHOICES, or None for what was chosen last.
    """
    before = read_stamp()
    torch = torch or before.get("torch", "auto")
    stamp = {"pyproject": fingerprint(), "torch": torch}
    if before == stamp and works():
        return
    make_venv()
    if torch != "default" and before.get("torch") != torch:
        install_torch(torch)
    say("Installing Draftrace and what it needs into .venv.")
    pip("install", "--editable", f"{ROOT}[test]")
    STAMP.write_text(json.dumps(stamp), encoding="utf-8")


def fingerprint() -> str:
    return hashlib.sha256((ROOT / "pyproject.toml").read_bytes()).hexdigest()


def read_stamp() -> dict[str, str]:
    try:
        return dict(json.loads(STAMP.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return {}


def works() -> bool:
    """Return whether the environment's Python starts (its base may be gone)."""
    try:
        return subprocess.run([PYTHON, "-c", ""], capture_output=True).returncode == 0
    except OSError:
        return False


def make_venv() -> None:
    if works():
        return
    python = find_python()
    say(f"Making .venv with {python}.")
    call([python, "-m", "venv", "--clear", str(VENV)])


def call(command: list[str]) -> None:
    done = subprocess.run(command, cwd=ROOT)
    if done.returncode:
        words = " ".join(command[:4])
        raise SetupError(f"'{words} …' failed; the lines above say why. Run it again.")


def pip(*arguments: str) -> None:
    call([str(PYTHON), "-m", "pip", *arguments])


def install_torch(choice: str) -> None:
    """Install torch as chosen; ``auto`` looks for an NVIDIA driver.

    Where packages come from is pip's own configuration: no source is named here. A
    build for the CPU only is taken where one is on offer, since others are gigabytes.
    """
    wants_cuda = choice == "cuda" or (choice == "auto" and sees_nvidia())
    requirement = cuda_build() if wants_cuda else cpu_build()
    if requirement is None:
        if choice == "cpu" and sys.platform == "linux":
            raise SetupError(
                "pip is offered no torch for the CPU only; point PIP_FIND_LINKS or "
                "PIP_EXTRA_INDEX_URL to a place that has one, or use --torch default."
            )
        requirement = torch_requirement()
    driver = "an NVIDIA driver" if sees_nvidia() else "no NVIDIA driver"
    say(f"There is {driver}; installing {requirement}.")
    pip("install", requirement)


def sees_nvidia() -> bool:
    if shutil.which("nvidia-smi"):
        return True
    try:
        ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")
    except OSError:
        return False
    return True


def torch_requirement() -> str:
    """Return the range of pyproject.toml, where it is written once."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    found = re.search(r'"(torch>=[^"]+)"', text)
    return found.group(1) if found else "torch"


def cpu_build() -> str | None:
    """Return the newest build on offer that is marked as CPU only, within the range."""
    builds = [v for v in versions_on_offer() if v.endswith("+cpu")]
    return f"torch=={builds[0]}" if builds else None


def cuda_build() -> str | None:
    """Return the newest build on offer without that mark (pip would prefer it)."""
    builds = [v for v in versions_on_offer() if not v.endswith("+cpu")]
    return f"torch=={builds[0]},!={plain(builds[0])}+cpu" if builds else None


def versions_on_offer() -> list[str]:
    """Return the torch versions in our range that pip could install, newest first."""
    done = subprocess.run(
        [PYTHON, "-m", "pip", "index", "versions", "torch"],
        capture_output=True,
        text=True,
    )
    found = re.search(r"^Available versions: (.+)$", done.stdout, re.MULTILINE)
    listed = found.group(1).split(", ") if found else []
    low, high = map(numbers, re.findall(r"\d+(?:\.\d+)+", torch_requirement()))
    return [v for v in listed if low <= numbers(plain(v)) < high]


def plain(version: str) -> str:
    return version.partition("+")[0]


def numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)))
