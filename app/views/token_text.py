"""The true text of a lane, and the pieces in which a view shows it. No Qt.

The text is never changed for display: rejected proposals, breaks and marks are pieces
of their own whose true text is empty, and copying reads the true texts only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from core.events import Origin, Place, RoundFinished, TokenOutcome, Verdict

Recall = Callable[[RoundFinished], RoundFinished | None]
BREAK_AFTER = 1000  # tokens: a frame's cost follows the stretches of the last paragraph
PROMPT_LINES = 3
PROMPT_CHARACTERS = 400

# Characters that Qt would turn into paragraphs, and controls that would not be seen.
_SHOWN = {c: 0x2400 + c for c in range(32) if c not in (9, 10)}
_SHOWN |= {0x7F: 0x2421, 0x2029: 0x00B6, 0xFDD0: 0xFFFD, 0xFDD1: 0xFFFD, 0xFFFC: 0xFFFD}


@dataclass(frozen=True, slots=True)
class Stop:
    """Something a person can point at: a token or a proposal.

    Attributes:
        role: names its look.
        token: the committed token, or None for a proposal.
        place: the refused or discarded proposal, or None for a token.
        round: the round it belongs to; None for a prompt token.
    """

    role: str
    token: TokenOutcome | None
    place: Place | None
    round: RoundFinished | None


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of the display in one look.

    Attributes:
        role: names its look.
        shown: what the view inserts; as long as ``true`` where that is not empty.
        true: what copying gives.
        stop: what it belongs to, or None for breaks and marks.
        odd: every second token, so that neighbours can be told apart.
    """

    role: str
    shown: str
    true: str
    stop: Stop | None
    odd: bool = False


def whole(stop: Stop, recall: Recall) -> Stop:
    """Return ``stop`` with the candidates that its round was stripped of."""
    of = stop.round
    full = None if of is None else recall(of)
    if of is None or full is None or full is of:
        return stop
    token, place = stop.token, stop.place
    if token is not None:
        token = full.tokens[of.tokens.index(token)]
    if place is not None:
        place = full.places[of.places.index(place)]
    return Stop(stop.role, token, place, full)


def shown(text: str) -> str:
    """Return ``text`` as Qt can show it, character for character."""
    return text.translate(_SHOWN)


class TokenText:
    """All tokens of a lane, and which of their characters may be seen by now."""

    def __init__(self) -> None:
        self._prompt: list[Stop] = []
        self.stops: list[Stop] = []  # output tokens and proposals, in order
        self.round_starts: dict[int, int] = {}  # round index -> its first stop
        self._token_stops: list[Stop] = []
        self._parts: list[str] = []
        self._length = 0  # characters of all tokens
        self._limit = 0  # those that may be seen
        self._tail = ""  # final text that no token accounts for (none, by rights)
        self._finished = False
        self._until: int | None = None  # stops that may be taken; None for all
        self.rewind()

    @property
    def text(self) -> str:
        """The true output text that may be seen."""
        return "".join(self._parts)[: self._limit] + self._tail

    @property
    def num_tokens(self) -> int:
        """How many tokens were committed."""
        return len(self._token_stops)

    def token_stop(self, index: int) -> Stop | None:
        """Return the stop of an output token; None while it has not come."""
        return self._token_stops[index] if index < self.num_tokens else None

    def set_prompt(self, prompt: tuple[TokenOutcome, ...]) -> None:
        """Set what stands before the output."""
        self._prompt = [Stop("prompt", token, None, None) for token in prompt]

    def rewind(self) -> None:
        """Begin again: the next :meth:`take` returns everything."""
        self._next = 0
        self._used = 0  # characters of the next stop that were taken
        self._taken = 0  # characters in all
        self._in_line = 0  # tokens since the last new line
        self._tail_taken = False
        self._marks: dict[
            int, tuple[int, int]
        ] = {}  # stop -> taken, in line, before it

    def limit(self, num_rounds: int | None) -> None:
        """Let :meth:`take` end after so many rounds; None for the whole text."""
        self._until = self.round_starts.get(-1 if num_rounds is None else num_rounds)

    def is_before(self, round_index: int) -> bool:
        """Return whether nothing of a round was taken yet."""
        start = self.round_starts.get(round_index, len(self.stops))
        return (self._next, self._used) <= (start, 0)

    def rewind_to(self, round_index: int) -> None:
        """Go back to where a round begins; it must have been taken."""
        self._next, self._used = self.round_starts[round_index], 0
        self._taken, self._in_line = self._marks[self._next]
        self._tail_taken = False

    def add_round(self, event: RoundFinished) -> None:
        """Take in a round; characters it holds back wait for a later one."""
        self.round_starts[event.round_index] = len(self.stops)
        new = list(_stops(event))
        self.stops += new
        self._token_stops += (stop for stop in new if stop.token is not None)
        self._parts += (t.text for t in event.tokens)
        self._length += sum(len(t.text) for t in event.tokens)
        self._limit = max(self._limit, self._length - event.held_characters)

    def finish(self, text: str) -> bool:
        """Let the text be ``text`` exactly; return whether what was taken stands."""
        common = _common("".join(self._parts), text)
        self._limit, self._tail = common, text[common:]
        self._finished = True
        return self._taken <= common

    def take(self, with_rejected: bool) -> Iterator[Piece]:
        """Yield what may be seen and was not yet taken."""
        end = len(self.stops) if self._until is None else self._until
        while self._next < end:
            stop = self.stops[self._next]
            if self._used == 0 and self._begins_a_round(stop):
                self._marks[self._next] = self._taken, self._in_line
            if stop.token is not None:
                yield from self._token(stop, stop.token)
                if not self._finished and self._used < len(stop.token.text):
                    return  # the rest of it is held back
            elif with_rejected:
                yield self._rejected(stop, stop.place)
            self._next, self._used = self._next + 1, 0
        if self._tail and not self._tail_taken and self._until is None:
            self._tail_taken = True
            yield Piece("plain", shown(self._tail), self._tail, None)

    def _begins_a_round(self, stop: Stop) -> bool:
        of = stop.round
        return of is not None and self.round_starts[of.round_index] == self._next

    def take_prompt(self, folded: bool) -> Iterator[Piece]:
        """Yield the prompt, folded to its last lines on wish."""
        texts = [stop.token.text for stop in self._prompt if stop.token]
        first = fold_at(texts) if folded else 0
        if first:
            yield Piece("mark", f"⋯ {first:,} more prompt tokens\n", "", None)
        for stop, text in zip(self._prompt[first:], texts[first:], strict=True):
            self._in_line += 1
            yield from self._broken(Piece("prompt", shown(text), text, stop))

    def _token(self, stop: Stop, token: TokenOutcome) -> Iterator[Piece]:
        end = min(len(token.text), self._used + max(0, self._limit - self._taken))
        part, odd = token.text[self._used : end], bool(self._next % 2)
        if not part and (self._finished or not token.text):
            yield Piece(stop.role, "", "", stop, odd)  # can be pointed at all the same
        self._in_line += 1
        for role, text in _split(part, stop.role, self._used == 0):
            yield from self._broken(Piece(role, shown(text), text, stop, odd))
        self._taken += len(part)
        self._used = end

    def _rejected(self, stop: Stop, place: Place | None) -> Piece:
        text = shown(place.text if place else "").replace("\n", "↵").replace("\t", "⇥")
        return Piece(stop.role, text, "", stop, bool(self._next % 2))

    def _broken(self, piece: Piece) -> Iterator[Piece]:
        """Yield ``piece``, with a display break at a space where the line is long."""
        if "\n" in piece.shown:
            self._in_line = 0
        space = piece.shown.find(" ") + 1
        if self._in_line < BREAK_AFTER or not space:
            yield piece
            return
        self._in_line = 0
        yield _part(piece, 0, space)
        yield Piece("plain", "\n", "", None)
        if space < len(piece.shown):
            yield _part(piece, space, len(piece.shown))


def fold_at(texts: list[str]) -> int:
    """Return the first token of the last few lines of a prompt; 0 to show it all."""
    lines, characters = 0, 0
    for i in range(len(texts) - 1, -1, -1):
        text = texts[i]
        # The new line that ends the prompt belongs to its last line.
        lines += text.count("\n") - (text.endswith("\n") and i == len(texts) - 1)
        characters += len(text)
        if lines >= PROMPT_LINES or characters > PROMPT_CHARACTERS:
            return min(i + 1, len(texts) - 1)
    return 0


def _stops(event: RoundFinished) -> Iterator[Stop]:
    """Yield a round in reading order: kept, refused and discarded, drawn instead."""
    kept = [t for t in event.tokens if t.origin is Origin.ACCEPTED]
    drawn = [t for t in event.tokens if t.origin is not Origin.ACCEPTED]
    for token in kept:
        yield Stop(str(token.origin), token, None, event)
    for place in event.places:
        if place.verdict is not Verdict.ACCEPTED:
            refused = place.verdict is Verdict.REFUSED
            yield Stop("rejected" if refused else "discarded", None, place, event)
    for token in drawn:
        yield Stop(str(token.origin), token, None, event)


def _split(text: str, role: str, at_start: bool) -> Iterator[tuple[str, str]]:
    """Yield a token's leading spaces apart, so that words stand free of each other."""
    bare = text.lstrip(" ")
    lead = len(text) - len(bare)
    if at_start and lead and bare and not bare.startswith("\n"):
        yield "plain", text[:lead]
        yield role, bare
    elif text:
        yield role, text


def _common(first: str, second: str) -> int:
    """Return how many characters two texts share from the start."""
    pairs = enumerate(zip(first, second, strict=False))
    shorter = min(len(first), len(second))
    return next((i for i, (a, b) in pairs if a != b), shorter)


def _part(piece: Piece, start: int, end: int) -> Piece:
    return Piece(
        piece.role, piece.shown[start:end], piece.true[start:end], piece.stop, piece.odd
    )
