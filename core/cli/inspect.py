"""``draftrace inspect``: what a checkpoint is, whether a pair fits, what it needs."""

from __future__ import annotations

import argparse
from typing import Any

from core.checkpoints.facts import CheckpointFacts
from core.checkpoints.plain_only import plain_only_note
from core.checkpoints.progress import megabytes
from core.checkpoints.words import in_memory, stored
from core.cli import CHECK_FAILED, DONE, output
from core.codec import encode
from core.config import DrafterKind
from core.demo_pair import DEMO_REFERENCE, DRAFT_REFERENCE, shipped_draft

_CAPACITY = 2048  # tokens that the memory estimate is made for
_WITHOUT_WEIGHTS = (None, *DrafterKind)


def parser(name: str) -> argparse.ArgumentParser:
    """Return the command's options."""
    made = argparse.ArgumentParser(prog=f"draftrace {name}", description=__doc__)
    made.add_argument("target", nargs="?", default="demo", help="folder, file or id")
    made.add_argument("--draft", help="judge this draft for the target, too")
    made.add_argument("--device", default="cpu", help="for the memory estimate")
    made.add_argument("--dtype", default="auto", help="for the memory estimate")
    made.add_argument("--json", action="store_true", help="print one JSON object")
    return made


def main(options: argparse.Namespace) -> int:
    """Print the facts; exit 3 if the pair does not fit."""
    from core.checkpoints.inspection import inspect_checkpoint

    target = inspect_checkpoint(options.target)
    draft = None
    if options.draft is None and options.target == DEMO_REFERENCE and shipped_draft():
        options.draft = DRAFT_REFERENCE
    if options.draft not in _WITHOUT_WEIGHTS:
        draft = inspect_checkpoint(options.draft)
    facts = _findings(target, draft, options)
    if options.json:
        output.print_json(facts)
    else:
        print("\n".join(_lines(target, draft, facts)))
    return DONE if facts["pair"] is None or facts["pair"]["fits"] else CHECK_FAILED


def _findings(
    target: CheckpointFacts, draft: CheckpointFacts | None, options: argparse.Namespace
) -> dict[str, Any]:
    from core.checkpoints.memory import estimate

    needed = estimate(
        target,
        draft,
        capacity=_capacity(target),
        lookahead=0 if target.plain_only else 4,
        racing=not target.plain_only,
        device=options.device,
        dtype=options.dtype,
    )
    return {
        "target": encode(target),
        "draft": encode(draft),
        "pair": _pair(target, draft, options.draft),
        "memory": encode(needed),
    }


def _capacity(target: CheckpointFacts) -> int:
    return min(_CAPACITY, target.context_length)


def _pair(
    target: CheckpointFacts, draft: CheckpointFacts | None, asked: str | None
) -> dict[str, Any] | None:
    """Return the verdict; None where nobody drafts, or lookup does and can."""
    from core.checkpoints.pairing import PairVerdict, judge_pair
    from core.checkpoints.plain_only import target_refusal

    if draft is not None:
        verdict = judge_pair(target, draft)
    elif asked == DrafterKind.LOOKUP and target.plain_only:
        verdict = PairVerdict(False, (target_refusal(target).sentence,))
    else:
        return None
    differing = [
        {"id": i, "target": ours, "draft": theirs}
        for i, ours, theirs in verdict.differing
    ]
    return {
        "fits": verdict.fits,
        "reasons": [{"sentence": r, "differing": differing} for r in verdict.reasons],
        "notes": list(verdict.notes),
    }


def _lines(
    target: CheckpointFacts, draft: CheckpointFacts | None, facts: dict[str, Any]
) -> list[str]:
    lines = _checkpoint("target", target)
    if draft is not None:
        lines += _checkpoint("draft", draft)
    if facts["pair"] is not None:
        lines.append("fits" if facts["pair"]["fits"] else "does not fit")
        lines += [f"  {r['sentence']}" for r in facts["pair"]["reasons"]]
        lines += [f"  {note}" for note in facts["pair"]["notes"]]
    memory = facts["memory"]
    what = "to decode plainly" if target.plain_only else "for a race"
    needed, free = (megabytes(memory[k]) for k in ("total_bytes", "free_bytes"))
    room = f"{_capacity(target):,} tokens"
    lines.append(f"memory {what} at {room}: {needed} needed, {free} free")
    return lines


def _checkpoint(role: str, facts: CheckpointFacts) -> list[str]:
    alone = [f"  {plain_only_note(facts)}"] if facts.plain_only else []
    template = "has a chat template" if facts.has_chat_template else "no chat template"
    return [
        f"{role}: {facts.name} ({facts.kind})",
        f"  {facts.architecture}, {facts.num_parameters / 1e6:.1f} M parameters, "
        f"{facts.num_layers} layers, width {facts.hidden_size}",
        f"  {facts.tokenizer_size:,} tokens in {facts.vocabulary_size:,} rows, "
        f"context {facts.context_length:,}",
        f"  {stored(facts)}, {megabytes(facts.size_bytes)}, {template}, "
        f"licence {facts.licence or 'not named'}",
        f"  in memory {in_memory(facts)}",
        *alone,
    ]
