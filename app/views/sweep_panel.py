"""The sweep in the window: its grid, how far it is, and the map of what was found."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QPoint, QSize, Qt, Signal, Slot
from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QLabel,
    QProgressBar,
    QPushButton,
    QScrollArea,
    QWidget,
)

from app.panels.parts import MARGIN, Badge, ElidedCombo, column_in, muted, row_in
from app.panels.parts import set_label_role as say
from app.run_controller import Finding, State
from app.theme import Theme, notifier
from app.views import sweep_words as words
from app.views.announce import announce
from app.views.elided import ElidedLabel
from app.views.sweep_choice import SweepChoice
from app.views.sweep_table import SweepTable
from core.config import DecodingConfig
from core.errors import CoreError
from core.events import LoadProgress
from core.lab.sweep_events import (
    ALL_KINDS,
    CellFinished,
    SweepCell,
    SweepFinished,
    SweepPlan,
    SweepProgress,
    SweepStarted,
)

PARTS = 1000
SHARP = 2  # pixels of a picture for each one on screen


class SweepPanel(QScrollArea):
    """Starts a sweep, shows how far it is and draws its map.

    Signals:
        start_asked: the button.
        cancel_asked: the button.
        cell_chosen: the SweepCell whose K and temperature should be set.
        opened: the panel shows; kept sweeps may be looked for.
        kept_chosen: the place in the list of kept sweeps that should be shown.
        csv_asked: the button.
        png_asked: the button.
    """

    start_asked, cancel_asked = Signal(), Signal()
    cell_chosen, opened, kept_chosen = Signal(object), Signal(), Signal(int)
    csv_asked, png_asked = Signal(), Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, widgetResizable=True)
        self.setAccessibleName("Sweep")
        self.choice = SweepChoice()
        self.start, self.cancel = QPushButton("Start"), QPushButton("Cancel")
        self.bar = QProgressBar(textVisible=False, maximum=PARTS)
        self.outcome, self.badge = ElidedLabel(), Badge()
        self.figure, self.kind = QComboBox(), QComboBox()
        self.kept = ElidedCombo("Kept sweeps")
        self.csv, self.png = QPushButton("Save CSV…"), QPushButton("Save PNG…")
        self.table, self.detail, self.caption = SweepTable(), muted(), muted()
        self.advice = QLabel()
        self.file = ""  # name of the file that the map on screen is kept in
        self._going, self._pair = False, ""
        self._picture = QWidget()
        self._configure()
        self._place()
        self._wire()
        self.show_kept(())
        self.badge.show_word("", "accepted")
        self._preview()
        self.show_state(State.IDLE)

    def begin(self, plan: SweepPlan) -> None:
        """Show the empty map of what is about to be measured."""
        self._going, self._pair = True, ""
        self._show_map(plan.lookaheads, plan.temperatures, (), plan.kinds)
        self.badge.show_word("", "accepted")
        self._tell("muted", words.WAITING)

    def on_finding(self, finding: Finding) -> str:
        """Take in what a sweep tells; return words for the status line."""
        match finding:
            case SweepStarted(plan=plan, cells=cells):
                self._show_map(plan.lookaheads, plan.temperatures, cells, plan.kinds)
                self.file = finding.file
                draft = finding.draft.name if finding.draft else None
                self._name_pair(words.pair_name(finding.target.name, draft))
                self.badge.show_word("MEASURED", "accepted", words.MEASURED)
                self._go_on(finding.done_runs / max(1, finding.total_runs))
                self._tell("muted", words.started(finding))
            case SweepProgress():
                self._go_on(finding.done_runs / max(1, finding.total_runs))
                say(self.outcome, "muted", words.progress(finding))
                return f"Sweeping: {words.progress(finding)}"
            case CellFinished(cell=cell):
                self.table.cells.put(cell)
                self._refresh()
            case SweepFinished():
                return self._end(finding)
            case LoadProgress(stage=stage) if self._going:
                self._tell("muted", f"{stage}…")
            case _:
                pass
        return ""

    def show_state(self, state: State) -> None:
        """Offer what can be done in ``state``."""
        for widget in (self.start, self.choice, self.kept):
            widget.setEnabled(not state.is_busy)
        if not state.is_busy and self._going:  # it failed: no word of its end came
            self._going = False
            self._tell("muted", words.FAILED)
        self.cancel.setEnabled(self._going and state is not State.STOPPING)
        self._refresh()

    def show_kept(self, names: tuple[str, ...]) -> None:
        """Offer the sweeps that were kept, the latest first."""
        self.kept.clear()
        self.kept.addItems(list(names) or ["no kept sweeps"])
        self.kept.setEnabled(bool(names) and not self._going)

    def show_recorded(
        self,
        plan: SweepPlan,
        cells: tuple[SweepCell, ...],
        advice: str,
        file: str,
        pair: str,
    ) -> None:
        """Show the map of a kept sweep."""
        if self._going:
            return
        self.file = file
        lookaheads = tuple(k for k in plan.lookaheads if k)  # plain is 1.00 everywhere
        self._show_map(lookaheads, plan.temperatures, cells, plan.kinds)
        self.badge.show_word("RECORDED", "draft", words.RECORDED)
        self.bar.setValue(PARTS if all(c.complete for c in cells) else 0)
        self._name_pair(pair)
        self._advise(words.recorded(advice))
        self._tell("muted", words.RECORDED if advice else words.PARTIAL)

    def plan(self, settings: DecodingConfig) -> SweepPlan:
        """Return the grid that is chosen; CoreError where it cannot be."""
        return self.choice.plan(settings)

    def save_picture(self, path: Path) -> bool:
        """Write the map with its sentence as a picture; False if it cannot be."""
        room = QSize(2 * MARGIN, 2 * MARGIN)
        pixmap = QPixmap((self._picture.size() + room) * SHARP)
        pixmap.setDevicePixelRatio(SHARP)
        pixmap.fill(Theme.current().color("surface"))
        parts = QWidget.RenderFlag.DrawChildren
        at = QPoint(MARGIN, MARGIN)
        self._picture.render(pixmap, at, renderFlags=parts)
        return pixmap.save(str(path), "PNG")

    def showEvent(self, event: object) -> None:
        """Look for kept sweeps when the panel is opened."""
        self.opened.emit()

    def _end(self, finding: SweepFinished) -> str:
        self._going = False
        for cell in finding.cells:
            self.table.cells.put(cell)
        self.bar.setValue(self.bar.value() if finding.cancelled else PARTS)
        self._advise(finding.advice)
        self._tell("muted", words.ended(finding))
        self._refresh()
        return "Sweep stopped" if finding.cancelled else "Sweep finished"

    def _advise(self, advice: str) -> None:
        self.advice.setText(advice)
        announce(self.advice, advice)

    def _name_pair(self, pair: str) -> None:
        self._pair = pair
        self._refresh()

    def _go_on(self, share: float) -> None:
        self.bar.setValue(round(PARTS * share))

    def _tell(self, role: str, sentence: str) -> None:
        say(self.outcome, role, sentence)
        announce(self.outcome, sentence)

    def _show_map(
        self,
        lookaheads: tuple[int, ...],
        temperatures: tuple[float, ...],
        cells: tuple[SweepCell, ...],
        kinds: tuple[str, ...],
    ) -> None:
        self.advice.clear()
        self.kind.clear()
        for kind in (ALL_KINDS, *kinds):
            self.kind.addItem(words.kind_name(kind), kind)
        self.table.cells.show(self._figure(), ALL_KINDS)
        self.table.cells.set_grid(lookaheads, temperatures, cells)
        self._refresh()

    def _figure(self) -> words.Figure:
        return words.Figure(self.figure.currentData())  # Qt keeps the text alone

    def _refresh(self) -> None:
        """Let what depends on the figures follow them."""
        measured = self.table.cells.is_measured
        for button in (self.csv, self.png):
            button.setEnabled(measured)
        index = self.table.currentIndex()
        cell = self.table.cells.cell_at(index) if index.isValid() else None
        self.detail.setText(words.sentence(cell) if cell else "")
        shown = self._figure(), self.kind.currentData()
        self.caption.setText(words.caption(*shown, self._pair))

    @Slot()
    def _preview(self) -> None:
        """Show the chosen grid empty while there is nothing better to show."""
        if self._going or self.table.cells.is_measured:
            return
        try:
            plan = self.plan(DecodingConfig())
        except CoreError:
            return  # the field says so
        self._show_map(plan.lookaheads, plan.temperatures, (), plan.kinds)
        self._tell("muted", words.IDLE)

    # Building ---------------------------------------------------------------------

    def _configure(self) -> None:
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.start.setProperty("primary", True)
        self.start.setAccessibleDescription(words.INTRODUCTION)
        self.cancel.setAccessibleDescription("End the sweep; whole turns are kept.")
        self.bar.setFixedHeight(8)
        self.bar.setAccessibleName("Progress of the sweep")
        for figure in words.Figure:
            self.figure.addItem(figure.value, figure.value)
        self.figure.setAccessibleName("Figure in the cells")
        self.kind.setAccessibleName("Prompts behind the cells")
        self.kind.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.advice.setWordWrap(True)
        self.advice.setAccessibleName("Advice")
        self.detail.setAccessibleName("The cell")
        self._fit()

    @Slot()
    def _fit(self) -> None:
        height = self.fontMetrics().height()
        self.outcome.setFixedHeight(height + 4)  # its roles differ in size
        self.advice.setMinimumHeight(height + 2)
        self.detail.setMinimumHeight(2 * height + 4)
        self.detail.setAlignment(Qt.AlignmentFlag.AlignTop)

    def _place(self) -> None:
        card = QFrame()
        card.setProperty("card", True)
        title = QLabel("At which K and temperature does it pay?")
        title.setProperty("role", "title")
        buttons, shown = row_in(), row_in()
        for widget in (self.start, self.cancel, self.badge):
            buttons.addWidget(widget)
        buttons.addWidget(self.outcome, 1)
        shown.addWidget(self.figure)
        shown.addWidget(self.kind)
        shown.addWidget(self.kept, 1)
        shown.addWidget(self.csv)
        shown.addWidget(self.png)
        column = column_in(card, spacing=10, margins=(16, 14, 16, 14))
        column.addWidget(title)
        column.addWidget(muted(words.INTRODUCTION))
        column.addWidget(self.choice)
        column.addLayout(buttons)
        column.addWidget(self.bar)
        column.addLayout(shown)
        inner = column_in(self._picture)
        inner.addWidget(self.caption)
        inner.addWidget(self.table)
        inner.addWidget(self.advice)
        inner.addWidget(self.detail)
        column.addWidget(self._picture)
        column.addWidget(muted(words.HINT))
        column.addStretch(1)
        self.setWidget(card)

    def _wire(self) -> None:
        self.start.clicked.connect(self.start_asked)
        self.cancel.clicked.connect(self.cancel_asked)
        self.csv.clicked.connect(self.csv_asked)
        self.png.clicked.connect(self.png_asked)
        self.kept.activated.connect(self.kept_chosen)
        self.choice.changed.connect(self._preview)
        self.figure.activated.connect(self._on_shown_changed)
        self.kind.activated.connect(self._on_shown_changed)
        self.table.pointed.connect(self._on_pointed)
        self.table.chosen.connect(self._on_chosen)
        notifier().changed.connect(self._fit)

    @Slot()
    def _on_shown_changed(self) -> None:
        self.table.cells.show(self._figure(), self.kind.currentData())
        self._refresh()

    @Slot(object)
    def _on_pointed(self, cell: SweepCell) -> None:
        self.detail.setText(words.sentence(cell))
        announce(self.detail, words.sentence(cell))

    @Slot(object)
    def _on_chosen(self, cell: SweepCell) -> None:
        self.cell_chosen.emit(cell)
        sentence = f"{words.loaded(cell)} {words.sentence(cell)}"
        self.detail.setText(sentence)
        announce(self.detail, sentence)
