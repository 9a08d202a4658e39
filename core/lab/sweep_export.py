"""The cells of a sweep for other programs: one object each, or one line of a table."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from core.codec import encode
from core.errors import ConfigurationError
from core.lab.sweep_events import AUTO, SweepCell


def cell_json(cell: SweepCell) -> dict[str, Any]:
    """Return a cell with K under the name that files have for it: a number, or auto."""
    values = encode(cell)
    lookahead = values.pop("lookahead")
    return {"k": "auto" if lookahead == AUTO else lookahead, **values}


def write_csv(cells: tuple[SweepCell, ...], path: Path) -> None:
    """Write one cell a line, the counts as columns of their own.

    Raises:
        ConfigurationError: if the file cannot be written.
    """
    rows = [_flat(cell) for cell in cells]
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    except OSError as error:
        raise ConfigurationError(
            f"Cannot write {path.name}: {error.strerror}.", path=path.name
        ) from error


def _flat(cell: SweepCell) -> dict[str, Any]:
    values = cell_json(cell)
    shares = values.pop("acceptance_by_place")
    counts = values.pop("counts")
    places = " ".join("" if s is None else f"{s:.4f}" for s in shares)
    return {**values, **counts, "acceptance_by_place": places}
