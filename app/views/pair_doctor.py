"""The pair doctor in the window: which checkpoint here should draft for the target."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, Signal, Slot
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHeaderView,
    QLabel,
    QProgressBar,
    QPushButton,
    QTableView,
    QWidget,
)

from app.item_models.doctor_table import HEADINGS, NAME, WIDEST, DoctorTable
from app.jobs import Finding, State
from app.panels.parts import Badge, column_in, muted, row_in, set_label_role
from app.theme import Theme, notifier
from app.views.announce import announce
from app.views.elided import ElidedLabel
from core.events import LoadProgress
from core.lab.doctor_events import (
    DoctorFinished,
    DoctorStarted,
    DraftProbed,
    DraftReport,
)

PARTS = 1000
INTRODUCTION = (
    "Judges every checkpoint on this computer as a draft for the target of the Decode "
    "page. A probe loads each that fits, lets it draft for a few prompts, and says "
    "what it should bring at which K."
)
IDLE = "Look judges by the files alone; Probe decodes, some seconds for each draft."
WAITING = "Getting ready…"
FAILED = "The doctor ended early; what was found stays."
CANCELLED = "Cancelled; what was probed for {} stays."
PREDICTED = "From step costs and acceptance that were measured in the probe."
USE = "Take this draft, its target and its best K to the Decode page."


class PairDoctorPanel(QFrame):
    """Starts the doctor and lists what it finds.

    Signals:
        look_asked: whether to probe.
        cancel_asked: the button.
        draft_chosen: the DraftReport of the selected row should draft.
    """

    look_asked, cancel_asked, draft_chosen = Signal(bool), Signal(), Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("card", True)
        self.look, self.probe = QPushButton("Look"), QPushButton("Probe")
        self.cancel, self.use = QPushButton("Cancel"), QPushButton("Use this draft")
        self.bar = QProgressBar(textVisible=False, maximum=PARTS)
        self.outcome, self.badge, self.detail = ElidedLabel(), Badge(), muted()
        self.table, self.drafts = QTableView(), DoctorTable()
        self._going = False
        self._configure()
        self._configure_table()
        self._place()
        self._wire()
        self.show_state(State.IDLE)
        self._tell("muted", IDLE)

    def begin(self) -> None:
        """Forget what was found; the doctor is about to look."""
        self._going = True
        self.drafts.show_drafts(())
        self.bar.setValue(0)
        self.badge.show_word("", "accepted")
        self.detail.clear()
        self._tell("muted", WAITING)

    def on_finding(self, finding: Finding) -> str:
        """Take in what the doctor tells; return words for the status line."""
        match finding:
            case DoctorStarted(drafts=drafts):
                self._show(drafts)
            case DraftProbed(drafts=drafts):
                self.badge.show_word("PREDICTED", "draft", PREDICTED)
                self._show(drafts)
            case DoctorFinished():
                return self._end(finding)
            case LoadProgress(stage=stage, fraction=fraction) if self._going:
                self._tell("muted", f"{stage}…")
                if stage.startswith(("Loading ", "Probing ")) and fraction is not None:
                    self.bar.setValue(round(PARTS * fraction))
            case _:
                pass
        return ""

    def show_state(self, state: State) -> None:
        """Offer what can be done in ``state``."""
        for button in (self.look, self.probe):
            button.setEnabled(not state.is_busy)
        if not state.is_busy and self._going:  # it failed: no word of its end came
            self._going = False
            self._tell("muted", FAILED)
        self.cancel.setEnabled(self._going and state is not State.STOPPING)
        self._busy = state.is_busy
        self._offer_use()

    def selected(self) -> DraftReport | None:
        """Return the draft of the selected row."""
        return self.drafts.draft_at(self.table.currentIndex().row())

    def _show(self, drafts: tuple[DraftReport, ...]) -> None:
        before = self.selected()
        self.drafts.show_drafts(drafts)
        kept = [d.reference for d in drafts]
        known = before is not None and before.reference in kept
        row = kept.index(before.reference) if known and before else 0
        self.table.selectRow(row)

    def _end(self, found: DoctorFinished) -> str:
        self._going = False
        self._show(found.drafts)
        self.table.selectRow(0)
        self.bar.setValue(self.bar.value() if found.cancelled else PARTS)
        sentence = f"For {found.target}: {found.advice}"
        if found.cancelled:
            sentence = CANCELLED.format(found.target)
        self._tell("muted" if found.cancelled else "", sentence)
        return sentence

    def _tell(self, role: str, sentence: str) -> None:
        set_label_role(self.outcome, role, sentence)
        announce(self.outcome, sentence)

    def _offer_use(self) -> None:
        draft = self.selected()
        self.use.setEnabled(draft is not None and draft.fits and not self._busy)

    # Building ---------------------------------------------------------------------

    def _configure(self) -> None:
        self._busy = False
        self.badge.show_word("", "accepted")
        self.probe.setProperty("primary", True)
        self.look.setAccessibleDescription("Judge every checkpoint by its files.")
        self.probe.setAccessibleDescription(INTRODUCTION)
        self.cancel.setAccessibleDescription("End the doctor; what was found stays.")
        self.use.setToolTip(USE)
        self.bar.setFixedHeight(8)
        self.bar.setAccessibleName("Progress of the doctor")
        self.detail.setAccessibleName("Reasons and notes")

    def _configure_table(self) -> None:
        table = self.table
        table.setModel(self.drafts)
        table.setAccessibleName("Drafts, the best first")
        table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        table.setTabKeyNavigation(False)
        table.setShowGrid(False)
        table.setWordWrap(False)
        table.verticalHeader().hide()
        header = table.horizontalHeader()
        header.setHighlightSections(False)
        for column in range(len(HEADINGS)):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Fixed)
        header.setSectionResizeMode(NAME, QHeaderView.ResizeMode.Stretch)
        self._fit()

    def _fit(self) -> None:
        """Give each column the room of its widest text, so that none moves."""
        metrics, header = self.fontMetrics(), self.table.horizontalHeader()
        for column, widest in enumerate(WIDEST):
            if column != NAME:
                room = max(widest, HEADINGS[column], key=metrics.horizontalAdvance)
                header.resizeSection(column, metrics.horizontalAdvance(room) + 22)
        self.table.verticalHeader().setDefaultSectionSize(metrics.height() + 10)
        self.outcome.setFixedHeight(metrics.height() + 4)
        self.detail.setMinimumHeight(2 * metrics.height() + 2)

    def _place(self) -> None:
        title = QLabel("Which draft for this target?")
        title.setProperty("role", "title")
        buttons = row_in()
        for widget in (self.look, self.probe, self.cancel, self.badge):
            buttons.addWidget(widget)
        buttons.addStretch(1)
        buttons.addWidget(self.use)
        column = column_in(self, spacing=10, margins=(16, 14, 16, 14))
        column.addWidget(title)
        column.addWidget(muted(INTRODUCTION))
        column.addLayout(buttons)
        column.addWidget(self.bar)
        column.addWidget(self.outcome)
        column.addWidget(self.table, 1)
        column.addWidget(self.detail)

    def _wire(self) -> None:
        self.look.clicked.connect(self._on_look_clicked)
        self.probe.clicked.connect(self._on_probe_clicked)
        self.cancel.clicked.connect(self.cancel_asked)
        self.use.clicked.connect(self._on_use_clicked)
        self.table.selectionModel().currentRowChanged.connect(self._on_row_chosen)
        self.table.activated.connect(self._on_use_clicked)
        notifier().changed.connect(self._on_theme_changed)

    @Slot()
    def _on_look_clicked(self) -> None:
        self.look_asked.emit(False)

    @Slot()
    def _on_probe_clicked(self) -> None:
        self.look_asked.emit(True)

    @Slot()
    def _on_use_clicked(self) -> None:
        if self.use.isEnabled():
            self.draft_chosen.emit(self.selected())

    @Slot(QModelIndex, QModelIndex)
    def _on_row_chosen(self, now: QModelIndex, _: QModelIndex) -> None:
        draft = self.drafts.draft_at(now.row())
        said = (*draft.reasons, *draft.notes) if draft else ()
        self.detail.setText(" ".join(said))
        self._offer_use()

    @Slot(object)
    def _on_theme_changed(self, theme: Theme) -> None:
        self._fit()
        self.table.viewport().update()
