"""Every checkpoint as a draft, as rows: name, fit, cost, acceptance, what it brings."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt

from app.theme import Theme
from app.views.labels import DASH
from core.lab.doctor_events import FITS, NOT, NOTED, DraftReport

_Index = QModelIndex | QPersistentModelIndex

HEADINGS = ("Draft", "Fit", "Cost", "Accepted", "Best K", "Speed-up")
NAME, FIT = 0, 1
SIGNS = {FITS: "✓ fits", NOTED: "✓ fits, see note", NOT: "✗ does not fit"}
ROLES = {FITS: "accepted", NOTED: "text", NOT: "muted"}
WIDEST = ("", max(SIGNS.values(), key=len), "~ 0.00", "100.0 %", "16", "00.00")
TIPS = (
    "",
    "Whether its tokens are the target's",
    "A step of the draft over one of the target; ~ by the bytes it reads, not measured",
    "Proposals accepted over proposals tested, in the probe",
    "The K that should be fastest; 0 where none wins",
    "Over plain decoding at that K; PREDICTED from the probe's costs and acceptance",
)


class DoctorTable(QAbstractTableModel):
    """The drafts in the order in which the doctor ranks them."""

    def __init__(self) -> None:
        super().__init__()
        self.drafts: tuple[DraftReport, ...] = ()

    def show_drafts(self, drafts: tuple[DraftReport, ...]) -> None:
        """Show these in the place of the ones before."""
        self.beginResetModel()
        self.drafts = drafts
        self.endResetModel()

    def draft_at(self, row: int) -> DraftReport | None:
        """Return the draft of a row."""
        return self.drafts[row] if 0 <= row < len(self.drafts) else None

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008 (Qt's own)
        return 0 if parent.isValid() else len(self.drafts)

    def columnCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008
        return len(HEADINGS)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = 0
    ) -> Any:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(section)
        if role == Qt.ItemDataRole.ToolTipRole:
            return TIPS[section] or None
        return HEADINGS[section] if role == Qt.ItemDataRole.DisplayRole else None

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        draft, column = self.drafts[index.row()], index.column()
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(column)
        if role == Qt.ItemDataRole.DisplayRole:
            return _texts(draft)[column]
        if role == Qt.ItemDataRole.ToolTipRole:
            return draft.sentence or None
        if role == Qt.ItemDataRole.ForegroundRole:
            plain = "text" if draft.fits else "muted"
            return Theme.current().color(ROLES[draft.fit] if column == FIT else plain)
        return None


def _texts(draft: DraftReport) -> tuple[str, ...]:
    rate, speed = draft.acceptance_rate, draft.predicted_speedup
    return (
        draft.name,
        SIGNS[draft.fit],
        _cost(draft),
        DASH if rate is None else f"{100 * rate:.1f} %",
        DASH if draft.best_lookahead is None else str(draft.best_lookahead),
        DASH if speed is None else f"{speed:.2f}",
    )


def _cost(draft: DraftReport) -> str:
    if draft.cost_ratio is None or not draft.fits:
        return DASH
    about = "" if draft.probed or not draft.cost_ratio else "~ "
    return f"{about}{draft.cost_ratio:.2f}"


def _alignment(column: int) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignRight
    if column in (NAME, FIT):
        side = Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter
