"""The words of the guided tour: five steps over two rounds of a real recording.

Every token and number in them is read from the recording; a test holds that the steps
say what the rounds show. No Qt in here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from app.views.candidates import CandidateRow, candidate_rows
from app.views.labels import apart, number, word
from app.views.sentences import label
from core.events import Event, Origin, Place, RoundFinished, RunStarted, Verdict

SURE = 0.95  # a chance above this shows nobody that chance decides


class Stage(IntEnum):
    """How much of a round a picture shows."""

    DRAFT = 1
    VERIFY = 2
    ACCEPT = 3
    RESAMPLE = 4
    BONUS = 5


@dataclass(frozen=True, slots=True)
class Step:
    """One page of the tour.

    Attributes:
        stage: what it explains; the picture shows that much.
        words: a few sentences for somebody new.
        event: the round it points at.
        before: the text that stands before the round.
        bars_title: what the bars below show.
        bars: the best candidates at the place that is explained.
    """

    stage: Stage
    words: str
    event: RoundFinished
    before: str
    bars_title: str = ""
    bars: tuple[CandidateRow, ...] = ()


class NoTour(ValueError):
    """The recording has no pair of rounds that could explain a round."""


def steps_of(events: Sequence[Event]) -> tuple[Step, ...]:
    """Return the five steps.

    Raises:
        NoTour: if there is no refusal after an acceptance, or no round that is kept
            whole.
    """
    started = next(e for e in events if isinstance(e, RunStarted))
    rounds = [e for e in events if isinstance(e, RoundFinished)]
    broken, whole = _broken(rounds), _whole(rounds)
    before, later = _text_before(events, broken), _text_before(events, whole)
    names = started.target.name, started.draft.name if started.draft else "a draft"
    told = (
        (Stage.DRAFT, _draft(broken, names[1]), broken, before),
        (Stage.VERIFY, _verify(broken, names[0]), broken, before),
        (Stage.ACCEPT, _accept(broken), broken, before),
        (Stage.RESAMPLE, _resample(broken), broken, before),
        (Stage.BONUS, _bonus(whole), whole, later),
    )
    return tuple(Step(*parts, *_bars(parts[2], parts[0])) for parts in told)


def _bars(event: RoundFinished, stage: Stage) -> tuple[str, tuple[CandidateRow, ...]]:
    """Return heading and candidates of what a stage is about, and no more yet."""
    if stage is Stage.BONUS:
        return "What the target gives the next token", tuple(candidate_rows(event, 0))
    place = _doubtful(event) if stage is Stage.ACCEPT else _refused(event)
    place = place or _refused(event)
    assert place is not None
    known = {Stage.DRAFT: 1, Stage.RESAMPLE: 3}.get(stage, 2)
    rows = candidate_rows(event, place.index)
    if known < 3:
        rows = [row for row in (_masked(r, known) for r in rows) if any(row.shares)]
    if stage < Stage.ACCEPT:  # nothing is decided yet
        rows = [replace(row, proposed=False, drawn=False) for row in rows]
        rows.sort(key=lambda row: max(s or 0.0 for s in row.shares), reverse=True)
    who = ("the draft", "draft and target", "draft, target and residual")[known - 1]
    give = "gives" if known == 1 else "give"
    title = f"What {who} {give} the tokens at place {place.index}"
    return title, tuple(rows)


def _masked(row: CandidateRow, known: int) -> CandidateRow:
    shares = tuple(s if i < known else None for i, s in enumerate(row.shares))
    return replace(row, shares=shares)  # type: ignore[arg-type]


def _broken(rounds: list[RoundFinished]) -> RoundFinished:
    """Return a round in which chance decided, with many accepted before a refusal."""
    found = [r for r in rounds if _refused(r) and r.counts.accepted]
    if not found:
        raise NoTour("no proposal was refused after one that was accepted")
    return max(found, key=_tells)


def _tells(event: RoundFinished) -> tuple[bool, bool, int]:
    """Rank a round: chance decided at an accepted place, and at the refused one."""
    refused = _refused(event)
    chance = (refused and refused.acceptance_probability) or 0.0
    return _doubtful(event) is not None, chance > 1 - SURE, event.counts.accepted


def _whole(rounds: list[RoundFinished]) -> RoundFinished:
    found = [r for r in rounds if r.places and r.counts.accepted == r.lookahead]
    found = [r for r in found if r.tokens[-1].origin is Origin.BONUS]
    if not found:
        raise NoTour("no round was kept whole")
    # The surest one: a bonus that is a surprise would need a second explanation.
    return max(found, key=lambda r: (r.lookahead, r.tokens[-1].target_probability or 0))


def _refused(event: RoundFinished) -> Place | None:
    return next((p for p in event.places if p.verdict is Verdict.REFUSED), None)


def _doubtful(event: RoundFinished) -> Place | None:
    """Return the accepted place that chance was most likely to refuse."""
    kept = [p for p in event.places if p.verdict is Verdict.ACCEPTED]
    found = min(kept, key=lambda p: p.acceptance_probability or 1.0, default=None)
    sure = found is None or (found.acceptance_probability or 1.0) > SURE
    return None if sure else found


def _text_before(events: Sequence[Event], event: RoundFinished) -> str:
    """Return what the round's own run had emitted; a recording may hold several."""
    text = ""
    for each in events[: events.index(event)]:
        if isinstance(each, RunStarted):
            text = ""
        elif isinstance(each, RoundFinished):
            text += "".join(token.text for token in each.tokens)
    return text


def _draft(event: RoundFinished, draft: str) -> str:
    proposed = "".join(place.text for place in event.places).strip()
    return (
        f"A small, quick model runs ahead. Here {draft} proposes {event.lookahead} "
        f"tokens, one after the other: “{proposed}”. Under each stands how sure it "
        "was. Nothing is decided yet."
    )


def _verify(event: RoundFinished, target: str) -> str:
    return (
        f"Now {target}, the target, reads all {event.lookahead} in one single pass. "
        "Reading a few tokens takes hardly longer than writing one, and it tells what "
        "the target itself thinks at every place: the second bar."
    )


def _accept(event: RoundFinished) -> str:
    place = _doubtful(event)
    rule = (
        "A proposal is kept with the chance target / draft, at most 1; a random number "
        "u decides."
    )
    if place is None or place.acceptance_probability is None or place.uniform is None:
        return f"{rule} All that come before the first refusal stay."
    u, chance = apart(place.uniform, place.acceptance_probability)
    return (
        f"{rule} “{word(place.text)}” has the chance {chance}, and u is {u}, below it: "
        f"it stays. Here {event.counts.accepted} of {event.lookahead} do."
    )


def _resample(event: RoundFinished) -> str:
    place, drawn = _refused(event), event.tokens[-1]
    assert place is not None
    u, chance = apart(place.uniform or 0.0, place.acceptance_probability or 0.0)
    return (
        f"“{word(place.text)}” is refused: u is {u}, not below {chance}. In its place "
        "a token is drawn from the residual, what the target wanted more of than the "
        f"draft: “{word(label(drawn, event))}”. That makes the text exactly the "
        "target's own, as if the draft had not been there."
    )


def _bonus(event: RoundFinished) -> str:
    drawn = event.tokens[-1]
    share = number(drawn.target_probability)
    return (
        f"In this round all {event.lookahead} are kept. The same pass has told, too, "
        "what comes after them, so one more token is free: "
        f"“{word(label(drawn, event))}” (target {share}). {len(event.tokens)} tokens "
        "for one pass of the target: that is where the speed comes from."
    )
