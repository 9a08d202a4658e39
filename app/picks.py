"""What the picker lists, as plain values, read off the window's thread. No Qt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from core.config import DrafterKind, PairConfig

if TYPE_CHECKING:
    from core.checkpoints.candidates import Candidate
    from core.checkpoints.facts import CheckpointFacts
    from core.checkpoints.hub import HubModel
    from core.checkpoints.known import KnownCheckpoint

RECENT, HUB = "Recent pairs", "On the model hub"
GATED = (
    "Gated: open its page on the hub and accept its terms, then log in once with "
    "'hf auth login'. The access token stays with the hub's own login."
)
DRAFT_GROUPS = {
    "fits": "Fits",
    "fits with a note": "Fits, with a note",
    "does not fit": "Does not fit",
}


@dataclass(frozen=True, slots=True)
class Pick:
    """One entry of the picker.

    Attributes:
        group: the heading it stands under.
        name: for people.
        reference: what the core loads.
        columns: architecture, parameters and size, for people.
        fit: the verdict as a draft; of a target only that it decodes plainly and no
            more.
        sentence: why it does not fit or cannot be used, or what is worth knowing.
        rows: everything that is known of it, as (name, value).
        usable: can be chosen.
        place: the folder or file of the person that it was found in.
        pair: set for a recent pair.
        on_hub: not on this computer.
    """

    group: str
    name: str
    reference: str
    columns: tuple[str, str, str] = ("", "", "")
    fit: str = ""
    sentence: str = ""
    rows: tuple[tuple[str, str], ...] = ()
    usable: bool = True
    place: str = ""
    pair: PairConfig | None = None
    on_hub: bool = False


def target_picks(
    places: tuple[str, ...], recent: tuple[PairConfig, ...]
) -> tuple[Pick, ...]:
    """Return what can be a target: recent pairs first, then place by place."""
    from core.checkpoints.known import catalogue
    from core.demo_pair import DRAFT_REFERENCE

    only_drafts = ("demo-layers", DRAFT_REFERENCE)
    found = [e for e in catalogue(places) if e.facts.reference not in only_drafts]
    return (*map(_recent, recent), *(_target(e) for e in found))


def draft_picks(reference: str, places: tuple[str, ...]) -> tuple[Pick, ...]:
    """Return everything as a draft for a target, the best first, unusable ones last."""
    from core.checkpoints.candidates import judge_candidates
    from core.checkpoints.inspection import inspect_checkpoint
    from core.checkpoints.known import catalogue

    entries = {e.facts.reference: e for e in catalogue(places)}
    target = inspect_checkpoint(reference)
    judged = judge_candidates(target, (e.facts for e in entries.values()))
    return tuple(_draft(c, entries[c.facts.reference]) for c in judged)


def hub_picks(
    text: str, largest: str, should_stop: Callable[[], bool]
) -> tuple[Pick, ...]:
    """Return what the hub finds; it asks the network."""
    from core.checkpoints.hub import search_hub
    from core.checkpoints.progress import Work

    found = search_hub(text, Work(should_stop=should_stop), largest=largest)
    return tuple(map(_hub, found))


def hub_size(reference: str, should_stop: Callable[[], bool]) -> str:
    """Return the size of a hub model's files for people; it asks the network."""
    from core.checkpoints.hub import download_size
    from core.checkpoints.progress import Work, megabytes

    return megabytes(download_size(reference, Work(should_stop=should_stop)))


def _target(entry: KnownCheckpoint) -> Pick:
    from core.checkpoints.plain_only import PLAIN_ONLY, plain_only_note

    facts = entry.facts
    note = plain_only_note(facts) if facts.plain_only else ""
    return Pick(
        _group(entry),
        _name(facts),
        facts.reference,
        _columns(facts),
        fit=PLAIN_ONLY if facts.plain_only else "",
        sentence=facts.problem or note,
        rows=_rows(entry),
        usable=facts.problem is None or facts.reference == "demo",
        place=entry.place,
    )


def _draft(candidate: Candidate, entry: KnownCheckpoint) -> Pick:
    from core.checkpoints.words import size_ratio

    facts, verdict = candidate.facts, candidate.verdict
    ratio = candidate.size_ratio
    share = "" if ratio is None else f"{size_ratio(ratio)} its parameters"
    return Pick(
        DRAFT_GROUPS[str(verdict.fit)],
        _name(facts),
        facts.reference,
        _columns(facts),
        fit=str(verdict.fit),
        sentence=" ".join((*verdict.reasons, *verdict.notes)),
        rows=((("Beside target", share),) if share else ()) + _rows(entry),
        usable=verdict.fits,
        place=entry.place,
    )


def _recent(pair: PairConfig) -> Pick:
    target = _short(pair.target.reference)
    drafter = {
        DrafterKind.LOOKUP: "prompt lookup",
        DrafterKind.NONE: "no drafter",
    }.get(pair.drafter) or _short(pair.draft.reference if pair.draft else "")
    rows = (("Target", target), ("Drafter", drafter), ("Device", pair.target.device))
    name = f"{target} with {drafter}"
    return Pick(RECENT, name, pair.target.reference, rows=rows, pair=pair)


def _hub(model: HubModel) -> Pick:
    from core.checkpoints.words import parameters

    size = parameters(model.num_parameters) if model.num_parameters else ""
    rows = (
        ("Architecture", model.architecture or "not stated"),
        ("Parameters", size or "not stated"),
        ("Licence", model.licence or "not stated"),
        ("Fetched", f"{model.downloads:,} times in a month"),
    )
    return Pick(
        HUB,
        model.reference,
        model.reference,
        (model.architecture, size, "gated" if model.gated else ""),
        sentence=GATED if model.gated else "",
        rows=rows,
        usable=False,
        on_hub=True,
    )


def _group(entry: KnownCheckpoint) -> str:
    titles = {"demo pair": "Demo", "drafts made here": "Drafts made here"}
    titles["hub cache"] = "Fetched from the model hub"
    if not entry.place or str(entry.shelf) in titles:
        return titles.get(str(entry.shelf), str(entry.shelf))
    single = entry.place.lower().endswith(".gguf")
    return "Single files" if single else _short(entry.place)


def _rows(entry: KnownCheckpoint) -> tuple[tuple[str, str], ...]:
    from core.checkpoints.words import table

    return (*table(entry.facts), ("Found in", entry.place or _group(entry)))


def _columns(facts: CheckpointFacts) -> tuple[str, str, str]:
    from core.checkpoints.progress import megabytes
    from core.checkpoints.words import parameters

    if facts.problem:
        return "", "", ""
    size, disk = parameters(facts.num_parameters), megabytes(facts.size_bytes)
    return facts.architecture, size, disk


def _name(facts: CheckpointFacts) -> str:
    from app.pair_outlook import checkpoint_label

    return checkpoint_label(facts)


def _short(reference: str) -> str:
    return PurePath(reference).name or reference
