"""``draftrace verify --mutant all``: every wrong rule, and which check noticed it."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator
from typing import Any

from core.cli import CANCELLED, CHECK_FAILED, DONE, output
from core.codec import encode
from core.config import DecodingConfig, DecodingRequest
from core.control import Control
from core.errors import ConfigurationError
from core.lab.checks import Check, CheckFinished
from core.session import Session

ALL = "all"
NOT_NOTICED = "not noticed"
# The penalty that is set where a mistake needs one and the settings have none.
PENALTY = 1.4


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """What became of one mutant.

    Attributes:
        mutant: its name.
        caught: the first check that failed; None where none did.
        seconds: all its checks took.
        left_out: why it was not tried; empty where it was.
    """

    mutant: str
    caught: Check | None
    seconds: float
    left_out: str = ""


def try_all(
    session: Session, request: DecodingRequest, control: Control, *, as_json: bool
) -> int:
    """Try each mutant, print what caught it, and return 3 if one survived."""
    rows = []
    for row in _rows(session, request, control):
        if control.should_stop():
            return CANCELLED
        rows.append(row)
        print(_line(row), file=sys.stderr if as_json else sys.stdout, flush=True)
    passed = all(row.caught or row.left_out for row in rows)
    if as_json:
        output.print_json({"mutants": [_keys(row) for row in rows], "passed": passed})
    return DONE if passed else CHECK_FAILED


def _rows(
    session: Session, request: DecodingRequest, control: Control
) -> Iterator[Row]:
    from core.lab.mutants import MUTANTS
    from core.lab.mutants.mutant import Need

    for name, mutant in MUTANTS.items():
        config = request.config
        if mutant.needs is Need.PENALTY:
            config = _penalised(config)
        pair = session.pair
        drafted = pair is not None and pair.draft is not None
        try:
            mutant.require_applies(config, drafted=drafted)
        except ConfigurationError as error:
            yield Row(name, None, 0.0, str(error))
            continue
        wanted = dataclasses.replace(request, config=config)
        yield _try(session, wanted, control, name)


def _penalised(config: DecodingConfig) -> DecodingConfig:
    if config.repetition_penalty != 1:
        return config
    return dataclasses.replace(config, repetition_penalty=PENALTY)


def _try(
    session: Session, request: DecodingRequest, control: Control, name: str
) -> Row:
    """Check under one mutant until a check fails; the others are then left out."""
    seconds = 0.0
    for event in session.verify(request, control, mutant=name):
        if isinstance(event, CheckFinished):
            seconds += event.check.seconds
            if not event.check.passed:
                return Row(name, event.check, seconds)
    return Row(name, None, seconds)


def _keys(row: Row) -> dict[str, Any]:
    check = row.caught
    return {
        "mutant": row.mutant,
        "caught_by": check and check.name,
        "statistic": check and encode(check.statistic),
        "detail": check.detail if check else row.left_out or NOT_NOTICED,
        "seconds": round(row.seconds, 2),
    }


def _line(row: Row) -> str:
    head = f"{row.mutant:<30}{row.seconds:6.1f} s  "
    if row.caught is None:
        return head + (row.left_out or NOT_NOTICED)
    return f"{head}{row.caught.name}: {row.caught.detail}"
