"""The picker's list on the screen: names stay readable, what has no room is out."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTreeView

from app.item_models.pick_tree import PICK, PickTree, Searched, is_wide
from app.picks import Pick

CHARACTERS = (72, 50)  # widths below which architecture, then parameters are left out


class PickView(QTreeView):
    """Headings with their entries; all columns also stand in the details.

    Signals:
        none.
    """

    def __init__(self) -> None:
        super().__init__()
        self.picks, self._shown = PickTree(), Searched()
        self._shown.setSourceModel(self.picks)
        self.setModel(self._shown)
        self.setAccessibleName("Checkpoints")
        self.setUniformRowHeights(True)
        self.setIndentation(14)
        self.setAllColumnsShowFocus(True)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setMinimumWidth(240)
        header = self.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        width = self.width() / max(1, self.fontMetrics().averageCharWidth())
        for column, least in enumerate(CHARACTERS, start=1):
            self.setColumnHidden(column, width < least)

    def pick(self) -> Pick | None:
        """Return the entry in focus."""
        index = self.currentIndex().siblingAtColumn(0)
        found = index.data(PICK) if index.isValid() else None
        return found if isinstance(found, Pick) else None

    def search(self, text: str) -> None:
        """Keep what has every word of ``text``."""
        self._shown.search(text)

    def unfold(self, keep: str) -> None:
        """Show all there is and go to ``keep``, or to the first that can be chosen."""
        self.expandAll()
        rows = self.entries()
        self._span(rows)
        kept = [i for i in rows if i.data(PICK).reference == keep]
        usable = [i for i in rows if i.data(PICK).usable]
        self.setCurrentIndex(next(iter((*kept, *usable, *rows)), QModelIndex()))

    def entries(self) -> list[QModelIndex]:
        """Return the entries that show, in order."""
        parents = [self._shown.index(r, 0) for r in range(self._shown.rowCount())]
        return [
            self._shown.index(row, 0, parent)
            for parent in parents
            for row in range(self._shown.rowCount(parent))
        ]

    def _span(self, rows: list[QModelIndex]) -> None:
        """Give headings, and entries that only have a reason, the whole width."""
        for row in range(self._shown.rowCount()):
            self.setFirstColumnSpanned(row, QModelIndex(), True)
        for index in rows:
            wide = is_wide(index.data(PICK))
            self.setFirstColumnSpanned(index.row(), index.parent(), wide)
