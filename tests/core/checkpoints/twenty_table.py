"""The folder of twenty as a table: verdict, sentence, and whether it really decodes.

``python -m tests.core.checkpoints.twenty_table FOLDER`` prints it for people.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from core.checkpoints.candidates import Candidate, judge_candidates
from core.checkpoints.facts import CheckpointFacts
from core.checkpoints.inspection import inspect_checkpoint
from core.checkpoints.known import catalogue
from core.checkpoints.plain_only import PLAIN_ONLY, plain_only_note
from core.config import DecodingConfig, ModelConfig, PairConfig
from core.control import Control
from core.errors import CoreError
from core.session import Session
from tests.core.checkpoints.twenty import TARGET, make_twenty
from tests.core.tiny_sessions import decode

HEAD = (
    f"| Checkpoint | Family | As a target | As a draft for `{TARGET}` | Decodes |",
    "| --- | --- | --- | --- | --- |",
)
SHORT = DecodingConfig(max_new_tokens=8, ignore_eos=True)


def rows(folder: Path) -> Iterator[str]:
    """Yield a row of the table for each checkpoint, in the picker's order of drafts."""
    known = [e.facts for e in catalogue((str(folder),)) if e.place == str(folder)]
    for candidate in judge_candidates(inspect_checkpoint(folder / TARGET), known):
        facts = candidate.facts
        cells = (
            f"`{facts.name}`",
            facts.architecture or "–",
            _as_target(facts),
            _as_draft(candidate),
            "yes" if _decodes(facts.reference) else "no",
        )
        yield f"| {' | '.join(cells)} |"


def _as_target(facts: CheckpointFacts) -> str:
    if facts.problem:
        return f"no: {facts.problem}"
    if facts.plain_only:
        return f"{PLAIN_ONLY}: {plain_only_note(facts)}"
    return "yes"


def _as_draft(candidate: Candidate) -> str:
    if candidate.facts.problem:
        return "no"
    fit = str(candidate.verdict.fit)
    return f"{fit}: {candidate.sentence}" if candidate.sentence else fit


def _decodes(reference: str) -> bool:
    """Load it alone and decode a few tokens."""
    session = Session()
    wanted = PairConfig(ModelConfig(reference, "cpu", "float32"))
    try:
        list(session.load(wanted, Control()))
    except CoreError:
        return False
    return decode(session, SHORT).counts.emitted == SHORT.max_new_tokens


def main(folder: Path) -> None:
    """Print the table of ``folder``, made first if it is not there."""
    if not folder.is_dir():
        make_twenty(folder)
    sys.stdout.write("\n".join((*HEAD, *rows(folder), "")))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
