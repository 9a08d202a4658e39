"""The picker's entries under their headings, and which of them a search keeps."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QSortFilterProxyModel, Qt
from PySide6.QtGui import QStandardItem, QStandardItemModel

from app.picks import HUB, Pick
from app.theme import Theme

_Index = QModelIndex | QPersistentModelIndex
COLUMNS = ("Checkpoint", "Architecture", "Parameters", "Size")
PLAIN_ONLY = "plain only"
SIGNS = {"fits": "✓", "fits with a note": "✓", "does not fit": "✗"}
ROLES = {
    "fits": "good",
    "fits with a note": "warning",
    "does not fit": "error",
    PLAIN_ONLY: "warning",
}
PICK = Qt.ItemDataRole.UserRole
_WORDS = Qt.ItemDataRole.UserRole.value + 1


class PickTree(QStandardItemModel):
    """Headings, and under each its entries in the order in which they are given."""

    def __init__(self) -> None:
        super().__init__()
        self._local: tuple[Pick, ...] = ()
        self._hub: tuple[Pick, ...] = ()
        self.setHorizontalHeaderLabels(COLUMNS)
        for column in (2, 3):
            self.horizontalHeaderItem(column).setTextAlignment(_RIGHT)

    def show_local(self, picks: Iterable[Pick]) -> None:
        """Show what is on this computer."""
        self._local = tuple(picks)
        self._fill()

    def show_hub(self, picks: Iterable[Pick]) -> None:
        """Show what the hub has found."""
        self._hub = tuple(picks)
        self._fill()

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Give what cannot be chosen the colour of what is not there."""
        if role == Qt.ItemDataRole.ForegroundRole:
            pick = super().data(index.sibling(index.row(), 0), PICK)
            dull = isinstance(pick, Pick) and not (pick.usable or pick.on_hub)
            heading = pick is None
            if dull or heading:
                return Theme.current().color("muted")
        return super().data(index, role)

    def _fill(self) -> None:
        self.removeRows(0, self.rowCount())
        headings: dict[str, QStandardItem] = {}
        for pick in (*self._local, *self._hub):
            if pick.group not in headings:
                headings[pick.group] = self._heading(pick.group)
            headings[pick.group].appendRow(_row(pick))

    def _heading(self, title: str) -> QStandardItem:
        item = QStandardItem(title)
        item.setFlags(Qt.ItemFlag.ItemIsEnabled)
        font = item.font()
        font.setBold(True)
        item.setFont(font)
        blanks = [QStandardItem() for _ in COLUMNS[1:]]
        for blank in blanks:
            blank.setFlags(Qt.ItemFlag.ItemIsEnabled)
        self.appendRow([item, *blanks])
        return item


class Searched(QSortFilterProxyModel):
    """The entries in which every typed word occurs; headings with any stay."""

    def __init__(self) -> None:
        super().__init__()
        self._wanted: list[str] = []
        self.setRecursiveFilteringEnabled(True)

    def search(self, text: str) -> None:
        """Keep what has every word of ``text``."""
        self._wanted = text.lower().split()
        self.invalidate()  # the narrower calls are other ones in each Qt

    def filterAcceptsRow(self, row: int, parent: _Index) -> bool:
        """Ask an entry; a heading stays for its entries, and the hub's always."""
        index = self.sourceModel().index(row, 0, parent)
        words = index.data(_WORDS)
        if words is None:
            return not self._wanted or index.data() == HUB
        # The hub has searched by itself, by names that need not show.
        return index.data(PICK).on_hub or all(word in words for word in self._wanted)


def is_wide(pick: Pick) -> bool:
    """Return whether nothing stands in the columns, so that a reason has room."""
    return not any(pick.columns)


def _row(pick: Pick) -> list[QStandardItem]:
    sign = SIGNS.get(pick.fit, "")
    name = QStandardItem(f"{sign}  {pick.name}".strip())
    if pick.fit == PLAIN_ONLY:
        name.setText(f"{pick.name}   {PLAIN_ONLY}")
    if is_wide(pick):
        name.setText(f"{name.text()}   {pick.sentence}".rstrip())
    name.setData(pick, PICK)
    name.setData(_words(pick), _WORDS)
    spoken = ", ".join(filter(None, (pick.name, pick.fit, *pick.columns)))
    name.setData(spoken, Qt.ItemDataRole.AccessibleTextRole)
    name.setData(pick.sentence, Qt.ItemDataRole.AccessibleDescriptionRole)
    others = [QStandardItem(text) for text in pick.columns]
    for item in others[1:]:
        item.setTextAlignment(_RIGHT)
    for item in (name, *others):
        item.setEditable(False)
        item.setToolTip(pick.sentence)
    return [name, *others]


def _words(pick: Pick) -> str:
    values = (value for _, value in pick.rows)
    return " ".join((pick.name, pick.reference, *pick.columns, *values)).lower()


_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
