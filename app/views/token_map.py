"""Where every token stands in the display: parallel arrays, looked up by bisection.

Positions are Qt's: UTF-16 code units, so an emoji is two. No Qt here all the same.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from app.views.token_text import Piece, Stop


def units(text: str) -> int:
    """Return the length of ``text`` as Qt counts it."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


class TokenMap:
    """The pieces of a display with their positions, in the order of appearance."""

    def __init__(self) -> None:
        self.length = 0
        self.stops: list[Stop] = []
        self.starts: list[int] = []  # of each stop
        self.ends: list[int] = []
        self._first_pieces: list[int] = []  # of each stop
        self._pieces: list[Piece] = []
        self._piece_starts: list[int] = []
        self._index: dict[int, int] = {}  # id of a stop -> its index

    def add(self, piece: Piece) -> None:
        """Append a piece behind all others."""
        self._pieces.append(piece)
        self._piece_starts.append(self.length)
        start, self.length = self.length, self.length + units(piece.shown)
        if piece.stop is not None:
            self._note(piece.stop, start)

    def _note(self, stop: Stop, start: int) -> None:
        index = self._index.setdefault(id(stop), len(self.stops))
        if index == len(self.stops):
            self.stops.append(stop)
            self.starts.append(start)
            self.ends.append(start)
            self._first_pieces.append(len(self._pieces) - 1)
        self.ends[index] = self.length

    def cut(self, index: int) -> int:
        """Forget a stop and all behind it; return where the display ends now."""
        self.length, first = self.starts[index], self._first_pieces[index]
        for stop in self.stops[index:]:
            del self._index[id(stop)]
        for stops in (self.stops, self.starts, self.ends, self._first_pieces):
            del stops[index:]
        del self._pieces[first:], self._piece_starts[first:]
        return self.length

    def index_at(self, position: int) -> int | None:
        """Return the index of the stop that the character at ``position`` is of."""
        index = bisect_right(self.starts, position) - 1
        return index if index >= 0 and position < self.ends[index] else None

    def index_near(self, position: int) -> int | None:
        """Return the index of the stop at or before ``position``; None without any."""
        index = bisect_right(self.starts, position) - 1
        return index if index >= 0 else (0 if self.starts else None)

    def index_of(self, stop: Stop) -> int | None:
        """Return the index of a stop, or None while it is not shown."""
        return self._index.get(id(stop))

    def span(self, index: int) -> tuple[int, int]:
        """Return start and end of a stop."""
        return self.starts[index], self.ends[index]

    def is_mark(self, position: int) -> bool:
        """Return whether ``position`` is in a mark, which is no token's."""
        index = bisect_right(self._piece_starts, position) - 1
        piece = self._pieces[index] if index >= 0 else None
        return piece is not None and piece.stop is None and piece.role == "mark"

    def true_text(self, start: int, end: int) -> str:
        """Return the true text of a stretch of the display."""
        first = max(0, bisect_right(self._piece_starts, start) - 1)
        last = bisect_left(self._piece_starts, end)
        return "".join(
            _cut(piece.true, start - at, end - at)
            for piece, at in zip(
                self._pieces[first:last], self._piece_starts[first:last], strict=True
            )
        )


def _cut(text: str, start: int, end: int) -> str:
    """Return ``text[start:end]`` counted in UTF-16 code units."""
    start, end = max(0, start), max(0, end)
    if text.isascii():
        return text[start:end]
    return text.encode("utf-16-le")[2 * start : 2 * end].decode("utf-16-le", "ignore")
