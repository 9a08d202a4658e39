"""What can be known to be wrong before anything is loaded is refused at once."""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path

from core.errors import ConfigurationError

_DEVICE = re.compile(r"auto|cpu|mps|cuda(:(\d+|all))?")
_FILES = ("trace", "csv", "chrome", "out")  # written after long work


def refuse_at_once(options: argparse.Namespace) -> None:
    """Check the values of a command that only a list, or the disk, can tell.

    Raises:
        ConfigurationError: naming the option, its value and what could stand there.
    """
    given = {n: v for n, v in vars(options).items() if v is not None}
    if "device" in given and not _DEVICE.fullmatch(given["device"].strip().lower()):
        raise _unknown("--device", given["device"], _DEVICES)
    if "dtype" in given:
        _require("--dtype", given["dtype"].strip().lower(), _dtypes())
    for kind in (given.get("kinds") or "").split(","):
        if kind:
            _require("--kinds", kind, _kinds())
    if "kind" in given:
        _require("--kind", given["kind"], _kinds())
    for shape in given.get("random", ()):
        _require("--random", shape, _shapes())
    if "mutant" in given:
        _check_mutant(options)
    for name in _FILES:
        if isinstance(given.get(name), Path):
            _check_writable(f"--{name}", given[name])


_DEVICES = ("auto", "cpu", "mps", "cuda", "cuda:N", "cuda:all")


def _require(option: str, value: str, known: Iterable[str]) -> None:
    known = tuple(known)
    if value not in known:
        raise _unknown(option, value, known)


def _unknown(option: str, value: str, known: Iterable[str]) -> ConfigurationError:
    return ConfigurationError(
        f"{option} is {value!r}; choose {', '.join(known)}.", value=value
    )


def _dtypes() -> tuple[str, ...]:
    from core.checkpoints.devices import DTYPES, EIGHT_BITS

    return ("auto", *DTYPES, EIGHT_BITS)


def _kinds() -> tuple[str, ...]:
    from core.prompts import library

    return tuple(dict.fromkeys(prompt.kind for prompt in library()))


def _shapes() -> tuple[str, ...]:
    from core.lab.random_models import SHAPES

    return SHAPES


def _check_mutant(options: argparse.Namespace) -> None:
    """Check the name, and that the mistake could show with this pair."""
    from core.cli.mutant_table import ALL
    from core.cli.options import config_from, pair_from
    from core.lab.mutants import MUTANTS

    if options.mutant == ALL:
        return
    _require("--mutant", options.mutant, (*MUTANTS, ALL))
    drafted = pair_from(options).draft is not None
    MUTANTS[options.mutant].require_applies(config_from(options), drafted=drafted)


def _check_writable(option: str, file: Path) -> None:
    """Try to write, and leave everything as it was; missing folders may be made."""
    near = file.absolute().parent
    try:
        there = file.exists()
        if option == "--out":
            near = next(p for p in (near, *near.parents) if p.exists())
        if there:
            file.open("ab").close()
        else:
            tempfile.TemporaryFile(dir=near).close()
    except OSError as error:
        raise ConfigurationError(
            f"{option} cannot write {file} ({error.strerror}); choose another file.",
            path=str(file),
        ) from error
