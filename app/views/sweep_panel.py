"""The sweep in the window: its grid, how far it is, and the map of what was found."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QLabel,
    QPushButton,
    QScrollArea,
    QWidget,
)

from app.jobs import Finding, State
from app.panels.parts import ElidedCombo, column_in, muted, row_in
from app.views import sweep_words as words
from app.views.sweep_choice import SweepChoice
from app.views.sweep_picture import SweepPicture
from app.views.sweep_strip import SweepStrip
from core.config import DecodingConfig
from core.errors import CoreError
from core.lab.sweep_events import (
    ALL_KINDS,
    CellFinished,
    SweepCell,
    SweepFinished,
    SweepPlan,
    SweepStarted,
)

NARROWEST = 90


class SweepPanel(QScrollArea):
    """Starts a sweep, shows how far it is and draws its map.

    Signals:
        opened: the panel shows; kept sweeps may be looked for.
        kept_chosen: the place in the list of kept sweeps that should be shown.
        csv_asked: the button.
        png_asked: the button.
    """

    opened, kept_chosen = Signal(), Signal(int)
    csv_asked, png_asked = Signal(), Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, widgetResizable=True)
        self.setAccessibleName("Sweep")
        self.choice, self.strip = SweepChoice(), SweepStrip(words.INTRODUCTION)
        self.figure = ElidedCombo("Figure in the cells")
        self.kind = ElidedCombo("Prompts behind the cells")
        self.kept = ElidedCombo("Kept sweeps")
        self.csv, self.png = QPushButton("Save CSV…"), QPushButton("Save PNG…")
        self.picture = SweepPicture()
        self.file = ""  # name of the file that the map on screen is kept in
        self._configure()
        self._place()
        self._wire()
        self.show_kept(())
        self._preview()
        self.show_state(State.IDLE)

    @property
    def shown(self) -> str | None:
        """The file that the map on screen is kept in; None while it is empty."""
        return self.file if self.picture.is_measured else None

    def begin(self, plan: SweepPlan) -> None:
        """Show the empty map of what is about to be measured."""
        self.file = ""
        self.picture.name_pair("")
        self._show_map(plan.lookaheads, plan.temperatures, (), plan.kinds)
        self.strip.begin()

    def on_finding(self, finding: Finding) -> str:
        """Take in what a sweep tells; return words for the status line."""
        if not self.strip.going:  # another section's sweep
            return ""
        match finding:
            case SweepStarted():
                self._show_started(finding)
            case CellFinished(cell=cell):
                self.picture.put(cell)
            case SweepFinished():
                for cell in finding.cells:
                    self.picture.put(cell)
                self.picture.advise(finding.advice)
            case _:
                pass
        self._offer_files()
        return self.strip.on_finding(finding)

    def show_state(self, state: State) -> None:
        """Offer what can be done in ``state``."""
        self.strip.show_state(state)
        self.choice.setEnabled(not state.is_busy)
        self.kept.setEnabled(self._any_kept and not state.is_busy)
        self._offer_files()

    def show_kept(self, names: tuple[str, ...]) -> None:
        """Offer the sweeps that were kept, the latest first."""
        self._any_kept = bool(names)
        self.kept.clear()
        self.kept.addItems(list(names) or ["no kept sweeps"])
        self.kept.setEnabled(self._any_kept and not self.strip.going)

    def show_recorded(
        self,
        plan: SweepPlan,
        cells: tuple[SweepCell, ...],
        advice: str,
        file: str,
        pair: str,
    ) -> None:
        """Show the map of a kept sweep."""
        if self.strip.going:
            return
        self.file = file
        lookaheads = tuple(k for k in plan.lookaheads if k)  # plain is 1.00 everywhere
        self._show_map(lookaheads, plan.temperatures, cells, plan.kinds)
        self.picture.name_pair(pair)
        self.picture.advise(words.recorded(advice))
        said = words.RECORDED if advice else words.PARTIAL
        self.strip.show_recorded(said, complete=all(c.complete for c in cells))
        self._offer_files()

    def plan(self, settings: DecodingConfig) -> SweepPlan:
        """Return the grid that is chosen; CoreError where it cannot be."""
        return self.choice.plan(settings)

    def showEvent(self, event: object) -> None:
        """Look for kept sweeps when the panel is opened."""
        self.opened.emit()

    def _show_started(self, started: SweepStarted) -> None:
        plan = started.plan
        self._show_map(plan.lookaheads, plan.temperatures, started.cells, plan.kinds)
        self.file = started.file
        draft = started.draft.name if started.draft else None
        self.picture.name_pair(words.pair_name(started.target.name, draft))

    def _show_map(
        self,
        lookaheads: tuple[int, ...],
        temperatures: tuple[float, ...],
        cells: tuple[SweepCell, ...],
        kinds: tuple[str, ...],
    ) -> None:
        self.kind.clear()
        for kind in (ALL_KINDS, *kinds):
            self.kind.addItem(words.kind_name(kind), kind)
        self._on_shown_changed()
        self.picture.show_map(lookaheads, temperatures, cells)

    def _offer_files(self) -> None:
        for button in (self.csv, self.png):
            button.setEnabled(self.picture.is_measured)

    @Slot()
    def _preview(self) -> None:
        """Show the chosen grid empty while there is nothing better to show."""
        if self.strip.going or self.picture.is_measured:
            return
        try:
            plan = self.plan(DecodingConfig())
        except CoreError:
            return  # the field says so
        self._show_map(plan.lookaheads, plan.temperatures, (), plan.kinds)
        self.strip.tell("muted", words.IDLE)

    # Building ---------------------------------------------------------------------

    def _configure(self) -> None:
        self.setFrameShape(QFrame.Shape.NoFrame)
        for figure in words.Figure:
            self.figure.addItem(figure.value, figure.value)
        for combo in (self.figure, self.kind):  # narrower only where room is short
            combo.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
            combo.setMinimumWidth(NARROWEST)

    def _place(self) -> None:
        card, shown = QFrame(), row_in()
        card.setProperty("card", True)
        title = QLabel("At which K and temperature does it pay?")
        title.setProperty("role", "title")
        for widget in (self.figure, self.kind):
            shown.addWidget(widget)
        shown.addWidget(self.kept, 1)
        for widget in (self.csv, self.png):
            shown.addWidget(widget)
        column = column_in(card, spacing=10, margins=(16, 14, 16, 14))
        for widget in (title, muted(words.INTRODUCTION), self.choice, self.strip):
            column.addWidget(widget)
        column.addLayout(shown)
        column.addWidget(self.picture)
        column.addWidget(muted(words.HINT))
        column.addStretch(1)
        self.setWidget(card)

    def _wire(self) -> None:
        self.csv.clicked.connect(self.csv_asked)
        self.png.clicked.connect(self.png_asked)
        self.kept.activated.connect(self.strip.forget_end)
        self.kept.activated.connect(self.kept_chosen)
        self.choice.changed.connect(self._preview)
        self.figure.activated.connect(self._on_shown_changed)
        self.kind.activated.connect(self._on_shown_changed)

    @Slot()
    def _on_shown_changed(self) -> None:
        figure = words.Figure(self.figure.currentData())  # Qt keeps the text alone
        self.picture.show_figure(figure, self.kind.currentData())
