"""The proposals of one round as rows of a table."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt

from app.fonts import text_font, token_font
from app.theme import Theme
from app.views.figures import share
from app.views.labels import DASH, number, visible, word
from app.views.sentences import drawn_instead, label, place_sentence
from core.events import Origin, Place, RoundFinished, Verdict

HEADINGS = ("#", "proposed", "draft", "target", "min(1, t/d)", "u", "verdict")
VERDICT = HEADINGS.index("verdict")
_Index = QModelIndex | QPersistentModelIndex


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its cells, its colour role, its place (0: none), its sentence."""

    cells: tuple[str, ...]
    role: str
    place: int
    sentence: str


def rows_of(event: RoundFinished) -> list[Row]:
    """Return one row per proposal, and one for a token that needed none."""
    rows = [_proposal(place, event) for place in event.places]
    for token in event.tokens:
        if token.place is None and token.origin is not Origin.PROMPT:
            name = word(label(token, event))
            target = number(token.target_probability)
            if event.settings.temperature == 0:
                target = share(token.target_top, token.token_id)
            cells = ("+", DASH, DASH, target, DASH, DASH, f"{token.origin} → {name}")
            rows.append(Row(cells, str(token.origin), 0, "Drawn from the target."))
    return rows


def _proposal(place: Place, event: RoundFinished) -> Row:
    draft, target = number(place.draft_probability), number(place.target_probability)
    if event.settings.temperature == 0:
        draft = share(place.draft_top, place.token_id)
        target = share(place.target_top, place.token_id)
    cells = (
        str(place.index),
        visible(place.text),
        draft,
        target,
        number(place.acceptance_probability),
        number(place.uniform),
        _verdict(place, event),
    )
    role = {"refused": "resampled"}.get(str(place.verdict), str(place.verdict))
    return Row(cells, role, place.index, place_sentence(place, event))


def _verdict(place: Place, event: RoundFinished) -> str:
    if place.verdict is Verdict.DISCARDED:
        return "not judged"
    if place.verdict is Verdict.ACCEPTED:
        return "accepted"
    drawn = drawn_instead(place, event)
    return f"refused → {word(drawn)}" if drawn else "refused"


class PlacesModel(QAbstractTableModel):
    """Rows of :func:`rows_of` for a table view.

    Signals:
        those of QAbstractTableModel.
    """

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[Row] = []

    def show(self, event: RoundFinished | None) -> None:
        """Replace all rows."""
        self.beginResetModel()
        self.rows = rows_of(event) if event else []
        self.endResetModel()

    def rowCount(self, parent: _Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self.rows)

    def columnCount(self, parent: _Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(HEADINGS)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = 0
    ) -> object:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return HEADINGS[section]
        return (
            _alignment(section) if role == Qt.ItemDataRole.TextAlignmentRole else None
        )

    def data(self, index: _Index, role: int = 0) -> object:
        row, column = self.rows[index.row()], index.column()
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return row.cells[column]
            case (
                Qt.ItemDataRole.ToolTipRole | Qt.ItemDataRole.AccessibleDescriptionRole
            ):
                return row.sentence
            case Qt.ItemDataRole.TextAlignmentRole:
                return _alignment(column)
            case Qt.ItemDataRole.FontRole:
                return text_font("small") if column == VERDICT else token_font()
            case Qt.ItemDataRole.ForegroundRole:
                return _ink(row, column)
            case Qt.ItemDataRole.BackgroundRole:
                refused = row.role == "resampled"
                return Theme.current().color("resampled", "fill") if refused else None
        return None


def _ink(row: Row, column: int) -> object:
    theme = Theme.current()
    if column == VERDICT and row.role not in ("plain", "discarded"):
        return theme.color(row.role)
    return theme.color("muted" if row.role == "discarded" or column == 0 else "text")


def _alignment(column: int) -> Qt.AlignmentFlag:
    left = column in (0, 1, VERDICT)
    side = Qt.AlignmentFlag.AlignLeft if left else Qt.AlignmentFlag.AlignRight
    return side | Qt.AlignmentFlag.AlignVCenter
