"""Sweeps as files: a header, then one decoding a line, in the user's data folder.

The file's name holds a key of pair, settings and machine, so that the same sweep goes
on where it ended and others stand beside it to be compared. Lines are written when a
turn is whole; a line that was cut off is dropped. No full path gets into a file.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import platformdirs

from core.codec import CodecError, decode, encode
from core.config import DecodingConfig
from core.errors import ConfigurationError, CoreError, TraceError
from core.events import Machine, ModelFacts, StepCosts
from core.lab.sweep_events import SweepCell, SweepPlan, in_order
from core.lab.sweep_runs import SweepRun, all_cells
from core.redaction import last_component

FORMAT, SCHEMA = "draftrace sweep", 1
ENDING = ".jsonl"


@dataclass(frozen=True, slots=True)
class SweepHeader:
    """What was swept, on what.

    Attributes:
        key: of pair, settings and machine.
        target: the target's facts.
        draft: the drafter's facts.
        settings: all but K and temperature.
        machine: what it ran on.
        costs: of the steps when the sweep began.
    """

    key: str
    target: ModelFacts
    draft: ModelFacts
    settings: DecodingConfig
    machine: Machine
    costs: StepCosts


@dataclass(frozen=True, slots=True)
class StoredSweep:
    """A sweep as it was read.

    Attributes:
        path: its file.
        header: what was swept.
        runs: every decoding, in the order in which they were made.
    """

    path: Path
    header: SweepHeader
    runs: tuple[SweepRun, ...]

    def plan(self) -> SweepPlan | None:
        """Return the grid that the runs span; None before the first turn."""
        if not self.runs:
            return None
        kinds = tuple(dict.fromkeys(run.prompt_kind for run in self.runs))
        prompts = {(run.prompt_kind, run.prompt) for run in self.runs}
        return SweepPlan(
            lookaheads=in_order(run.lookahead for run in self.runs),
            temperatures=tuple(sorted({run.temperature for run in self.runs})),
            kinds=kinds,
            prompts_per_kind=max(sum(k == kind for k, _ in prompts) for kind in kinds),
            repeats=max(run.repeat for run in self.runs),
            settings=self.header.settings,
        )

    def cells(self) -> tuple[SweepCell, ...]:
        """Return its map, the plain baseline at K = 0 included."""
        plan = self.plan()
        return all_cells(plan, self.runs, self.header.costs) if plan else ()


def sweep_folder() -> Path:
    """Return the folder that sweeps are kept in."""
    return Path(platformdirs.user_data_dir("draftrace", appauthor=False)) / "sweeps"


def new_header(
    target: ModelFacts,
    draft: ModelFacts,
    settings: DecodingConfig,
    machine: Machine,
    costs: StepCosts,
) -> SweepHeader:
    """Return the header of a sweep, with its key and without full paths."""
    # K and temperature belong to the runs, and the key to what they have in common.
    common = replace(settings, lookahead=0, auto_lookahead=False, temperature=0.0)
    where = replace(machine, memory_bytes=0)
    facts = [encode(value) for value in (target, draft, common, where)]
    text = json.dumps(facts, sort_keys=True)
    key = hashlib.sha256(text.encode()).hexdigest()[:12]
    return SweepHeader(key, _clean(target), _clean(draft), common, machine, costs)


def _clean(facts: ModelFacts) -> ModelFacts:
    return replace(
        facts,
        name=last_component(facts.name),
        reference=last_component(facts.reference),
    )


def default_path(header: SweepHeader) -> Path:
    """Return the file that a sweep goes to if nobody names one."""
    names = f"{header.target.name} {header.draft.name}"
    readable = re.sub(r"[^A-Za-z0-9.]+", "-", names).strip("-.")[:80]
    return sweep_folder() / f"{readable}-{header.key}{ENDING}"


class SweepFile:
    """A sweep's file, read when it is opened and written turn by turn.

    Attributes:
        path: the file.
        runs: every decoding in it, the latest of equal ones.

    Raises:
        ConfigurationError: if the file holds another sweep.
        TraceError: if it cannot be read or written.
    """

    def __init__(self, path: Path, header: SweepHeader) -> None:
        self.path = path
        self._runs: dict[tuple, SweepRun] = {}
        if path.exists():
            stored = read_sweep(path)
            if stored.header.key != header.key:
                raise ConfigurationError(
                    f"{path.name} holds the sweep of another pair, of other settings "
                    "or of another machine; choose another file.",
                    path=path.name,
                )
            header = stored.header
            self._remember(stored.runs)
        self._rewrite(header)

    @property
    def runs(self) -> tuple[SweepRun, ...]:
        """Every decoding so far."""
        return tuple(self._runs.values())

    def append(self, runs: Iterable[SweepRun]) -> None:
        """Add the decodings of a whole turn."""
        fresh = tuple(runs)
        try:
            with self.path.open("a", encoding="ascii", newline="\n") as file:
                file.writelines(_line(encode(run)) for run in fresh)
        except OSError as error:
            raise _cannot("write", self.path, error) from error
        self._remember(fresh)

    def _remember(self, runs: Iterable[SweepRun]) -> None:
        for run in runs:
            self._runs[(*run.turn, run.lookahead)] = run

    def _rewrite(self, header: SweepHeader) -> None:
        """Write what is known, so that no torn line is left to append to."""
        part = self.path.with_name(self.path.name + ".part")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with part.open("w", encoding="ascii", newline="\n") as file:
                file.write(
                    _line({"format": FORMAT, "schema": SCHEMA, **encode(header)})
                )
                file.writelines(_line(encode(run)) for run in self.runs)
            os.replace(part, self.path)
        except OSError as error:
            raise _cannot("write", self.path, error) from error


def read_sweep(path: Path) -> StoredSweep:
    """Read a sweep's file; a last line that was cut off is left out.

    Raises:
        TraceError: if it is missing, no sweep, or damaged.
    """
    try:
        first, *lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise _cannot("read", path, error) from error
    try:
        header = json.loads(first)
        if header.get("format") != FORMAT or header.get("schema") != SCHEMA:
            raise CodecError(f"format {header.get('format')!r}")
        runs = [decode(SweepRun, json.loads(line)) for line in lines[:-1] if line]
        return StoredSweep(path, decode(SweepHeader, header), tuple(runs))
    except (ValueError, AttributeError, CoreError) as error:
        raise TraceError(
            f"{path.name} is not a sweep of this version of Draftrace, or it is "
            "damaged; choose another file.",
            detail=str(error),
            path=path.name,
        ) from error


def list_sweeps(folder: Path | None = None) -> tuple[StoredSweep, ...]:
    """Return the sweeps of a folder, the latest first; files of others are left out."""
    found = []
    paths = (folder or sweep_folder()).glob(f"*{ENDING}")
    for path in sorted(paths, key=lambda p: p.stat().st_mtime, reverse=True):
        with contextlib.suppress(TraceError):
            found.append(read_sweep(path))
    return tuple(found)


def _line(value: dict[str, Any]) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":")) + "\n"


def _cannot(verb: str, path: Path, error: Exception) -> TraceError:
    reason = getattr(error, "strerror", None) or type(error).__name__
    return TraceError(f"Cannot {verb} the sweep {path.name}: {reason}.", path=path.name)
