"""Making a draft for a target: what is asked, and how far it is."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QSpinBox,
    QWidget,
)

from app.panels.parts import NameLabel, Rule, column_in, muted, row_in
from app.views.draft_progress import DraftProgress
from core.config import ModelConfig
from core.distillation.plan import MOST_MINUTES, DistillPlan
from core.errors import ConfigurationError

SIZE = QSize(760, 640)
INTRODUCTION = (
    "The target writes texts, and a small model learns to guess its next words. All of "
    "it happens on this computer, and the target stays as it is. More minutes make a "
    "better draft."
)
SIZES = (
    ("Tiny: the cheapest steps", "tiny"),
    ("Small: better guesses, dearer steps", "small"),
)
FIRST_MINUTES = 60
LIBRARY = "Draftrace's own library: nine kinds of prompts"
FILTERS = "Prompts (*.txt *.jsonl);;All files (*)"
BUSY = "Something else is running; it can be started when that has ended."
WIDEST = "Prompts"


class MakeDraftDialog(QDialog):
    """Ask, show, and let go on or end; knows no worker.

    Signals:
        start_asked: the DistillPlan.
        stop_asked: keep the best so far.
        folder_edited: the text of the folder.
    """

    start_asked = Signal(object)
    stop_asked = Signal()
    folder_edited = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Make a draft")
        self._target = ModelConfig("")
        self.title, self.folder, self.prompts = QLabel(), QLineEdit(), QLineEdit()
        self.shape, self.minutes = QComboBox(), QSpinBox()
        self.resume = QCheckBox("Go on with the draft that was begun in this folder")
        self.choose_folder = QPushButton("Choose…")
        self.choose_prompts = QPushButton("Choose…")
        self.progress = DraftProgress()
        self.start, self.leave = QPushButton("Make the draft"), QPushButton("Close")
        self.stop = QPushButton("Stop and keep the best")
        self._dress()
        self._place()
        self._wire()
        self.offer_resume(False)
        self.show_running(False, free=True)
        self.resize(SIZE.boundedTo(self.screen().availableSize() - QSize(40, 60)))

    def set_target(self, target: ModelConfig, name: str, folder: str) -> None:
        """Offer to make a draft for ``target`` in ``folder``."""
        self._target = target
        self.title.setText(f"A draft for {name}")
        self.folder.setText(folder)
        self.progress.reset()

    def plan(self) -> DistillPlan:
        """Return what is asked for.

        Raises:
            ConfigurationError: if it cannot be done.
        """
        return DistillPlan(
            target=self._target,
            out=self.folder.text().strip(),
            size=self.shape.currentData(),
            prompts=self.prompts.text().strip(),
            minutes=float(self.minutes.value()),
            resume=self.resume.isChecked(),
        )

    def offer_resume(self, offered: bool) -> None:
        """Offer to go on, which is what somebody with that folder wants."""
        self.resume.setVisible(offered)
        self.resume.setChecked(offered)

    def show_running(self, running: bool, *, free: bool) -> None:
        """Offer what can be done: while it runs, or something else does."""
        self.asked.setEnabled(not running)
        self.start.setEnabled(free and not running)
        self.start.setToolTip("" if free or running else BUSY)
        self.stop.setEnabled(running)

    # Building ---------------------------------------------------------------------

    def _dress(self) -> None:
        self.title.setProperty("role", "title")
        for label, data in SIZES:
            self.shape.addItem(label, data)
        self.minutes.setRange(1, int(MOST_MINUTES))
        self.minutes.setValue(FIRST_MINUTES)
        self.minutes.setSuffix(" minutes")
        self.minutes.lineEdit().setTextMargins(6, 0, 6, 0)
        self.minutes.setAlignment(Qt.AlignmentFlag.AlignRight)
        room = self.resume.sizePolicy()
        room.setRetainSizeWhenHidden(True)  # or the curves would jump
        self.resume.setSizePolicy(room)
        self.minutes.setAccessibleDescription("To collect and train.")
        self.prompts.setPlaceholderText(LIBRARY)
        self.start.setProperty("primary", True)
        self.start.setDefault(True)
        self.stop.setAccessibleDescription("The best draft so far is written.")
        self.choose_folder.setAccessibleName("Choose the folder of the draft")
        self.choose_prompts.setAccessibleName("Choose a file of prompts")

    def _place(self) -> None:
        self.asked = QWidget()
        form = column_in(self.asked)
        form.addLayout(_row("Folder", self.folder, self.choose_folder))
        form.addLayout(_row("Prompts", self.prompts, self.choose_prompts))
        sizes = _row("Size", self.shape)
        sizes.addSpacing(12)
        sizes.addWidget(NameLabel("Time", self.minutes, "Time"))
        sizes.addWidget(self.minutes)
        form.addLayout(sizes)
        form.addLayout(_row("", self.resume))
        foot = row_in()
        foot.addStretch(1)
        for button in (self.start, self.stop, self.leave):
            foot.addWidget(button)
        whole = QWidget()
        content = column_in(whole, spacing=10, margins=(16, 16, 16, 8))
        for widget in (self.title, muted(INTRODUCTION), self.asked, Rule()):
            content.addWidget(widget)
        content.addWidget(self.progress, 1)
        area = QScrollArea(widgetResizable=True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setWidget(whole)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        bar = area.verticalScrollBar().sizeHint().width()
        area.setMinimumWidth(whole.minimumSizeHint().width() + bar)
        foot.setContentsMargins(16, 8, 16, 16)
        column = column_in(self, spacing=0)
        column.addWidget(area, 1)
        column.addLayout(foot)

    def _wire(self) -> None:
        self.start.clicked.connect(self._on_start_clicked)
        self.stop.clicked.connect(self.stop_asked)
        self.leave.clicked.connect(self.close)
        self.choose_folder.clicked.connect(self._on_choose_folder)
        self.choose_prompts.clicked.connect(self._on_choose_prompts)
        self.folder.textChanged.connect(self.folder_edited)

    @Slot()
    def _on_start_clicked(self) -> None:
        try:
            plan = self.plan()
        except ConfigurationError as error:
            self.progress.show_failure(error.sentence)
            return
        self.progress.begin(keep_curves=plan.resume)
        self.start_asked.emit(plan)

    @Slot()
    def _on_choose_folder(self) -> None:
        title = "Choose a folder for the draft"
        path = QFileDialog.getExistingDirectory(self, title, self.folder.text())
        if path:
            self.folder.setText(path)

    @Slot()
    def _on_choose_prompts(self) -> None:
        title = "Choose a file of prompts"
        path, _ = QFileDialog.getOpenFileName(self, title, "", FILTERS)
        if path:
            self.prompts.setText(path)


def _row(name: str, *controls: QWidget) -> QHBoxLayout:
    row = row_in()
    row.addWidget(NameLabel(name, controls[0], WIDEST))
    row.addWidget(controls[0], 1)
    for control in controls[1:]:
        row.addWidget(control)
    return row
