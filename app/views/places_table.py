"""The table of a round's proposals."""

from __future__ import annotations

from PySide6.QtCore import (
    QItemSelection,
    QModelIndex,
    QPersistentModelIndex,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtGui import QFontMetrics, QPalette, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from app.fonts import text_font, token_font
from app.theme import Theme, notifier
from app.views.places_model import HEADINGS, VERDICT, PlacesModel
from core.events import RoundFinished

PROPOSED = 1
SPARED = (HEADINGS.index("min(1, t/d)"), HEADINGS.index("u"), 2, 3)
WORDS = "refused → word", 52  # what a verdict takes; pixels of a proposal


_Index = QModelIndex | QPersistentModelIndex


class RowDelegate(QStyledItemDelegate):
    """Keeps a chosen row's own colours, and draws no box round a single cell.

    Signals:
        none of its own.
    """

    def initStyleOption(self, option: QStyleOptionViewItem, index: _Index) -> None:
        super().initStyleOption(option, index)
        ink = index.data(Qt.ItemDataRole.ForegroundRole)
        option.palette.setColor(QPalette.ColorRole.HighlightedText, ink)
        option.state &= ~QStyle.StateFlag.State_HasFocus


class PlacesTable(QTableView):
    """A real table: keys walk it, screen readers read it, rows can be chosen.

    Signals:
        place_chosen: the chosen row's place; 0 for a token that had none.
    """

    place_chosen = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = PlacesModel()
        self.setModel(self._model)
        self._configure()
        self.selectionModel().selectionChanged.connect(self._on_selected)
        notifier().changed.connect(self._on_theme_changed)
        self._on_theme_changed(Theme.current())

    def _configure(self) -> None:
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setItemDelegate(RowDelegate(self))
        self.setProperty("places", True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setShowGrid(False)
        self.setTabKeyNavigation(False)
        self.setWordWrap(False)
        self.verticalHeader().hide()
        self.horizontalHeader().setHighlightSections(False)
        self.setAccessibleName("Proposals of the round")

    @Slot(object)
    def _on_theme_changed(self, _: Theme) -> None:
        metrics = QFontMetrics(token_font())
        self.verticalHeader().setMinimumSectionSize(10)
        self.verticalHeader().setDefaultSectionSize(metrics.height() + 5)
        header = self.horizontalHeader()
        header.setMinimumSectionSize(24)
        for column, heading in enumerate(HEADINGS):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Fixed)
            header.resizeSection(column, _width(column, heading, metrics))
        self._share_room()
        self.viewport().update()

    def _share_room(self) -> None:
        """Give what the numbers leave to the two columns of words."""
        header, room = self.horizontalHeader(), self._spare_columns()
        proposed = max(48, round(room * 0.4))
        header.resizeSection(PROPOSED, proposed)
        header.resizeSection(VERDICT, max(48, room - proposed))

    def least_width(self) -> int:
        """Return what number, proposal and a verdict of one word take."""
        verdict = QFontMetrics(text_font("small")).horizontalAdvance("accepted") + 9
        return self.horizontalHeader().sectionSize(0) + WORDS[1] + verdict

    def _spare_columns(self) -> int:
        """Leave numbers out where the verdict would be cut; return what is left.

        All of them stand in the sentence of the row.
        """
        header, room = self.horizontalHeader(), self.viewport().width()
        for column in SPARED:
            header.setSectionHidden(column, False)
        room -= sum(
            header.sectionSize(i)
            for i in range(len(HEADINGS))
            if i not in (PROPOSED, VERDICT)
        )
        verdict, proposed = WORDS
        wide = QFontMetrics(text_font("small")).horizontalAdvance(verdict) + 9
        for column in SPARED:
            if room < wide + proposed:
                room += header.sectionSize(column)
                header.setSectionHidden(column, True)
        return room

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._share_room()

    def show_round(self, event: RoundFinished | None, place: int = 0) -> None:
        """Show a round's rows and choose one without telling anybody."""
        self.selectionModel().blockSignals(True)
        self._model.show(event)
        self.selectionModel().blockSignals(False)
        self.choose(place)

    def choose(self, place: int) -> None:
        """Select the row of ``place`` (0: the token that had none)."""
        rows = [i for i, row in enumerate(self._model.rows) if row.place == place]
        if rows:
            self.blockSignals(True)
            self.selectRow(rows[0])
            self.blockSignals(False)

    @Slot(QItemSelection, QItemSelection)
    def _on_selected(self, chosen: QItemSelection, _: QItemSelection) -> None:
        if chosen.indexes():
            self.place_chosen.emit(self._model.rows[chosen.indexes()[0].row()].place)


def _width(column: int, heading: str, digits: QFontMetrics) -> int:
    words = QFontMetrics(text_font("small")).horizontalAdvance(heading)
    return max(words, digits.horizontalAdvance("00" if column == 0 else "<0.00")) + 9
