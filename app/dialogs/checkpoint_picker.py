"""Choosing a checkpoint: everything on this computer, and the hub when asked."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QSize, Qt, Signal, Slot
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QFileDialog,
    QLineEdit,
    QPushButton,
    QSplitter,
    QWidget,
)

from app.dialogs.checkpoint_details import CheckpointDetails
from app.hub_desk import HubDesk
from app.panels.parts import column_in, muted, row_in, set_label_role
from app.picks import Pick
from app.views.pick_view import PickView
from core.events import LoadProgress

SIZE = QSize(940, 600)
LARGEST = (
    ("Any size", ""),
    ("Up to 0.5 B", "500M"),
    ("Up to 2 B", "2B"),
    ("Up to 8 B", "8B"),
)
LOOKING, ASKING_HUB = "Looking at the checkpoints…", "Asking the model hub…"
NONE_FOUND = "The hub has no text generator with safetensors by that name and size."
TYPE_FIRST = "Type a part of a model's name first."


class CheckpointPicker(QDialog):
    """Search, read, choose; add places; fetch from the hub.

    Signals:
        chosen: the Pick.
        look_asked: look at the disk again.
        places_changed: the person's folders and files.
    """

    chosen = Signal(object)
    look_asked = Signal()
    places_changed = Signal(object)

    def __init__(
        self, title: str, places: tuple[str, ...], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self.places = places
        self.search, self.largest = QLineEdit(), QComboBox()
        self.again, self.hub = QPushButton("Look again"), QPushButton("Search the hub")
        self.tree, self.details, self.status = PickView(), CheckpointDetails(), muted()
        self.add_folder = QPushButton("Add folder…")
        self.add_file = QPushButton("Add GGUF file…")
        self.remove = QPushButton("Remove place")
        self.choose, self.cancel = QPushButton("Choose"), QPushButton("Cancel")
        self._wanted = ""
        self._desk = HubDesk(self)
        self._dress()
        self._place()
        self._wire()
        self._on_current_changed(QModelIndex())
        wide = QSize(self.fontMetrics().averageCharWidth() * 150, 0)
        most = self.screen().availableSize() - QSize(40, 60)
        self.resize(SIZE.expandedTo(wide).boundedTo(most))

    def pick(self) -> Pick | None:
        """Return the entry in focus."""
        return self.tree.pick()

    @Slot(object)
    def show_picks(self, picks: tuple[Pick, ...]) -> None:
        """Show what is on this computer."""
        usable = sum(pick.usable for pick in picks)
        set_label_role(self.status, "muted", f"{usable} of {len(picks)} can be chosen")
        keep = self._wanted or getattr(self.pick(), "reference", "")
        self._wanted = ""
        self.tree.picks.show_local(picks)
        self._after_filling(keep)

    @Slot(str)
    def show_failure(self, sentence: str) -> None:
        """Say why nothing can be listed."""
        set_label_role(self.status, "error", sentence)

    def done(self, result: int) -> None:
        """Leave; a transfer ends, what has arrived stays."""
        self._desk.close()
        super().done(result)

    # Building ---------------------------------------------------------------------

    def _dress(self) -> None:
        self.search.setPlaceholderText("Search by name, architecture, size, licence…")
        self.search.setAccessibleName("Search")
        self.search.setClearButtonEnabled(True)
        for text, value in LARGEST:
            self.largest.addItem(text, value)
        self.largest.setAccessibleName("Largest model of a search on the hub")
        self.hub.setAccessibleDescription("Asks the network, for what is typed.")
        self.remove.setAccessibleDescription("Forget the folder or file of this entry.")
        self.choose.setProperty("primary", True)
        self.details.setMinimumWidth(220)

    def _place(self) -> None:
        column = column_in(self, spacing=10, margins=(16, 16, 16, 16))
        top = row_in()
        top.addWidget(self.search, 1)
        for widget in (self.hub, self.largest, self.again):
            top.addWidget(widget)
        both = QSplitter(Qt.Orientation.Horizontal)
        both.addWidget(self.tree)
        both.addWidget(self.details)
        both.setSizes([600, 310])
        both.setStretchFactor(0, 1)
        both.setChildrenCollapsible(False)
        foot = row_in()
        for widget in (self.add_folder, self.add_file, self.remove):
            foot.addWidget(widget)
        foot.addStretch(1)
        foot.addWidget(self.cancel)
        foot.addWidget(self.choose)
        column.addLayout(top)
        column.addWidget(both, 1)
        column.addWidget(self.status)
        column.addLayout(foot)
        for button in self.findChildren(QPushButton):
            button.setAutoDefault(False)
        self.choose.setDefault(True)

    def _wire(self) -> None:
        self.search.textChanged.connect(self._on_search_changed)
        self.hub.clicked.connect(self._on_hub_clicked)
        self.again.clicked.connect(self._on_again_clicked)
        self.tree.selectionModel().currentChanged.connect(self._on_current_changed)
        self.tree.activated.connect(self._on_choose_clicked)
        self.choose.clicked.connect(self._on_choose_clicked)
        self.cancel.clicked.connect(self.reject)
        self.add_folder.clicked.connect(self._on_add_folder_clicked)
        self.add_file.clicked.connect(self._on_add_file_clicked)
        self.remove.clicked.connect(self._on_remove_clicked)
        self.details.fetch_asked.connect(self._on_fetch_asked)
        self.details.cancel_asked.connect(self._desk.stop)
        self._desk.found.connect(self._on_hub_found)
        self._desk.sized.connect(self._on_sized)
        self._desk.progressed.connect(self._on_progressed)
        self._desk.fetched.connect(self._on_fetched)
        self._desk.ended.connect(self._on_transfer_ended)
        self._desk.failed.connect(self._on_hub_failed)
        QShortcut(QKeySequence.StandardKey.Find, self, self.search.setFocus)
        QShortcut(QKeySequence.StandardKey.Refresh, self, self._on_again_clicked)

    # What the person does -----------------------------------------------------------

    @Slot(str)
    def _on_search_changed(self, text: str) -> None:
        self.tree.search(text)
        self._after_filling("")

    @Slot()
    def _on_again_clicked(self) -> None:
        set_label_role(self.status, "muted", LOOKING)
        self.look_asked.emit()

    @Slot(QModelIndex)
    @Slot(QModelIndex, QModelIndex)
    def _on_current_changed(
        self, index: QModelIndex, before: QModelIndex | None = None
    ) -> None:
        pick = self.pick()
        self.choose.setEnabled(bool(pick and pick.usable))
        self.remove.setEnabled(bool(pick and pick.place in self.places))
        if self._desk.fetching:
            return
        self.details.show_pick(pick)
        if pick is not None and pick.on_hub:
            self._desk.ask_size(pick.reference)

    @Slot()
    @Slot(QModelIndex)
    def _on_choose_clicked(self, index: QModelIndex | None = None) -> None:
        pick = self.pick()
        if pick is not None and pick.usable:
            self.chosen.emit(pick)
            self.accept()

    @Slot()
    def _on_add_folder_clicked(self) -> None:
        title = "Add a folder of checkpoints"
        self._add(QFileDialog.getExistingDirectory(self, title))

    @Slot()
    def _on_add_file_clicked(self) -> None:
        title, kinds = "Add a GGUF file", "GGUF files (*.gguf)"
        self._add(QFileDialog.getOpenFileName(self, title, "", kinds)[0])

    def _add(self, path: str) -> None:
        if path and path not in self.places:
            self._set_places((*self.places, path))

    @Slot()
    def _on_remove_clicked(self) -> None:
        pick = self.pick()
        if pick is not None:
            self._set_places(tuple(p for p in self.places if p != pick.place))

    def _set_places(self, places: tuple[str, ...]) -> None:
        self.places = places
        self.places_changed.emit(places)
        self._on_again_clicked()

    # The hub ------------------------------------------------------------------------

    @Slot()
    def _on_hub_clicked(self) -> None:
        text = self.search.text().strip()
        if not text:
            set_label_role(self.status, "warning", TYPE_FIRST)
            self.search.setFocus()
        elif not self._desk.fetching:
            set_label_role(self.status, "muted", ASKING_HUB)
            self._desk.search(text, self.largest.currentData())

    @Slot(object)
    def _on_hub_found(self, picks: tuple[Pick, ...]) -> None:
        text = f"The hub names {len(picks)} models" if picks else NONE_FOUND
        set_label_role(self.status, "muted", text)
        self.tree.picks.show_hub(picks)
        self._after_filling(picks[0].reference if picks else "")

    @Slot(str, str)
    def _on_sized(self, reference: str, size: str) -> None:
        pick = self.pick()
        if pick is not None and pick.reference == reference:
            self.details.show_size(size)

    @Slot()
    def _on_fetch_asked(self) -> None:
        pick = self.pick()
        if pick is not None:
            self.details.show_progress(LoadProgress("Asking the hub"))
            self._desk.fetch(pick.reference)

    @Slot(object)
    def _on_progressed(self, progress: LoadProgress) -> None:
        if self._desk.fetching:
            self.details.show_progress(progress)

    @Slot(str)
    def _on_fetched(self, reference: str) -> None:
        self.details.show_progress(None)
        self._wanted = reference
        self.tree.picks.show_hub(())
        self.search.clear()
        self._on_again_clicked()

    @Slot()
    def _on_transfer_ended(self) -> None:
        self.details.show_progress(None)
        self._on_current_changed(self.tree.currentIndex())

    @Slot(str, str)
    def _on_hub_failed(self, key: str, sentence: str) -> None:
        self.details.show_progress(None)
        if key == "found":
            set_label_role(self.status, "error", sentence)
        else:
            self.details.show_failure(sentence)

    def _after_filling(self, keep: str) -> None:
        self.tree.unfold(keep)
        self._on_current_changed(self.tree.currentIndex())
