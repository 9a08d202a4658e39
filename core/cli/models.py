"""``draftrace models``: the checkpoints on this machine, and which could draft."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from core.checkpoints.candidates import Candidate
from core.checkpoints.facts import CheckpointFacts
from core.checkpoints.known import KnownCheckpoint
from core.cli import DONE, output
from core.codec import encode
from core.errors import ConfigurationError


def parser(name: str) -> argparse.ArgumentParser:
    """Return the command's options."""
    made = argparse.ArgumentParser(prog=f"draftrace {name}", description=__doc__)
    made.add_argument(
        "places",
        nargs="*",
        metavar="FOLDER",
        help="look here, too: folders and GGUF files (also in DRAFTRACE_MODELS)",
    )
    made.add_argument("--target", help="judge every checkpoint as a draft for this one")
    made.add_argument("--json", action="store_true", help="print one JSON object")
    return made


def main(options: argparse.Namespace) -> int:
    """List the checkpoints; with a target, the fitting drafts first."""
    from core.checkpoints.known import catalogue

    _require_places(options.places)
    known = catalogue(options.places)
    target, judged = _judge(options.target, known)
    if options.json:
        output.print_json(_findings(known, target, judged))
    elif target is not None:
        print("\n".join(_verdicts(target, judged)))
    else:
        print("\n".join(_lines(known)))
    return DONE


def _require_places(places: list[str]) -> None:
    for place in places:
        if not Path(place).exists():
            raise ConfigurationError(
                f"There is no folder or file {place}; check the path.", value=place
            )


def _judge(
    reference: str | None, known: tuple[KnownCheckpoint, ...]
) -> tuple[CheckpointFacts | None, tuple[Candidate, ...]]:
    from core.checkpoints.candidates import judge_candidates
    from core.checkpoints.inspection import inspect_checkpoint

    if reference is None:
        return None, ()
    target = inspect_checkpoint(reference)
    return target, judge_candidates(target, (entry.facts for entry in known))


def _findings(
    known: tuple[KnownCheckpoint, ...],
    target: CheckpointFacts | None,
    judged: tuple[Candidate, ...],
) -> dict[str, Any]:
    shelves = {entry.facts.reference: entry for entry in known}
    if target is None:
        models = [_entry(entry) for entry in known]
    else:
        models = [
            {**_entry(shelves[c.facts.reference]), "verdict": _verdict(c)}
            for c in judged
        ]
    return {"target": encode(target), "models": models}


def _entry(entry: KnownCheckpoint) -> dict[str, Any]:
    usable = entry.facts.problem is None
    where = {"shelf": str(entry.shelf), "place": entry.place}
    return {**encode(entry.facts), **where, "usable": usable, "verdict": None}


def _verdict(candidate: Candidate) -> dict[str, Any]:
    verdict = candidate.verdict
    return {
        "fit": str(verdict.fit),
        "reasons": list(verdict.reasons),
        "notes": list(verdict.notes),
        "differing": [
            {"id": i, "target": ours, "draft": theirs}
            for i, ours, theirs in verdict.differing
        ],
        "size_ratio": candidate.size_ratio,
    }


def _lines(known: tuple[KnownCheckpoint, ...]) -> list[str]:
    """Return the list by shelf, in the order in which it was found."""
    lines: list[str] = []
    for entry in known:
        title = entry.place or str(entry.shelf)
        if title not in lines:
            lines.append(title)
        lines.append(f"  {entry.facts.name:<32} {_about(entry.facts)}")
    return lines


def _verdicts(target: CheckpointFacts, judged: tuple[Candidate, ...]) -> list[str]:
    lines = [f"drafts for {target.name}, {_about(target)}"]
    for each in judged:
        lines.append(f"  {each.verdict.fit:<16} {each.facts.name:<32} {_ratio(each)}")
        lines += [f"    {s}" for s in (*each.verdict.reasons, *each.verdict.notes)]
    return lines


def _ratio(candidate: Candidate) -> str:
    from core.checkpoints.words import size_ratio

    ratio = candidate.size_ratio
    return "" if ratio is None else f"{size_ratio(ratio)} the target's parameters"


def _about(facts: CheckpointFacts) -> str:
    from core.checkpoints.progress import megabytes
    from core.checkpoints.words import parameters

    if facts.problem:
        return facts.problem
    alone = ", plain only" if facts.plain_only else ""
    return (
        f"{facts.architecture}, {parameters(facts.num_parameters)}, "
        f"{facts.num_layers} layers, {facts.dtype}, {megabytes(facts.size_bytes)}"
        f"{alone}"
    )
