"""Figure 1 of the paper for the chosen pair: measured, drawn, kept, taken along."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer, Signal, Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFrame,
    QLabel,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.jobs import Finding, State
from app.panels.parts import ElidedCombo, column_in, muted, row_in
from app.views import figure_words as words
from app.views.announce import announce
from app.views.labels import count
from app.views.sweep_strip import SweepStrip
from app.views.sweep_words import pair_name
from core.config import DecodingConfig
from core.events import StepCosts
from core.lab.figure_one import FigureCurve, figure_curves
from core.lab.sweep_events import (
    ALL_KINDS,
    FIGURE_TOKENS,
    CellFinished,
    SweepCell,
    SweepFinished,
    SweepPlan,
    SweepStarted,
)

if TYPE_CHECKING:
    from app.views.figure_cards import FigureCards
    from app.views.plot_source import Table

TEMPERATURES = (("0.8, the paper's", 0.8), ("0", 0.0), ("1", 1.0))
REPEATS = (4, 1, 10)


class FigurePanel(QScrollArea):
    """Starts the figure's sweep, shows how far it is and draws three panels.

    Signals:
        opened: the panel shows; kept figures may be looked for.
        kept_chosen: the place in the list of kept figures that should be shown.
        save_asked: the button.
    """

    opened, kept_chosen, save_asked = Signal(), Signal(int), Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, widgetResizable=True)
        self.setAccessibleName("Figure 1")
        self.temperature, self.repeats = QComboBox(), QComboBox()
        self.strip, self.total = SweepStrip(words.INTRODUCTION), muted()
        self.paper = QCheckBox(words.SHOW_PAPER)
        self.kept, self.save = ElidedCombo("Kept figures"), QPushButton("Save…")
        self.caption, self.legend, self.said = muted(), muted(), QLabel()
        self.cards: FigureCards | None = None
        self.curves: tuple[FigureCurve, ...] = ()
        self.file = ""  # name of the file that the curves are kept in
        self.heading = ""
        self._cells: dict[tuple[str, int], SweepCell] = {}
        self._costs: StepCosts | None = None
        self._room = QVBoxLayout()
        self._configure()
        self._place()
        self._wire()
        self.show_kept(())
        self._tell_total()
        self._draw()
        self.strip.tell("muted", words.IDLE)
        self.show_state(State.IDLE)

    def plan(self) -> SweepPlan:
        """Return the sweep of the figure, as ``draftrace sweep --figure-1`` has it."""
        settings = DecodingConfig(
            temperature=self.temperature.currentData(),
            top_p=0.95,
            max_new_tokens=FIGURE_TOKENS,
            ignore_eos=True,
        )
        repeats = self.repeats.currentData()
        return replace(SweepPlan.figure_1(settings), repeats=repeats)

    @property
    def shown(self) -> tuple[str, str] | None:
        """File and caption of the figure on screen; None while it is empty."""
        measured = any(any(curve.ms_128) for curve in self.curves)
        return (self.file, self.heading) if measured else None

    def begin(self) -> None:
        """Forget the figure; the one asked for is about to be measured."""
        self._cells, self._costs, self.file = {}, None, ""
        self._show((), "")
        self.strip.begin()

    def on_finding(self, finding: Finding) -> str:
        """Take in what the sweep tells; return words for the status line."""
        if not self.strip.going:  # another section's sweep
            return ""
        match finding:
            case SweepStarted(plan=plan):
                self._costs, self.file = finding.costs, finding.file
                draft = finding.draft.name if finding.draft else None
                pair = pair_name(finding.target.name, draft)
                self.heading = words.caption(pair, plan.temperatures[0])
                self._put(*finding.cells)
            case CellFinished(cell=cell):
                self._put(cell)
            case SweepFinished(cells=cells):
                self._put(*cells)
                announce(self.said, self.said.text())
            case _:
                pass
        return self.strip.on_finding(finding)

    def show_state(self, state: State) -> None:
        """Offer what can be done in ``state``."""
        self.strip.show_state(state)
        for widget in (self.temperature, self.repeats):
            widget.setEnabled(not state.is_busy)
        self.kept.setEnabled(self._any_kept and not state.is_busy)

    def show_kept(self, names: tuple[str, ...]) -> None:
        """Offer the figures that were kept, the latest first."""
        self._any_kept = bool(names)
        self.kept.clear()
        self.kept.addItems(list(names) or ["no kept figures"])
        self.kept.setEnabled(self._any_kept and not self.strip.going)

    def show_recorded(
        self, curves: tuple[FigureCurve, ...], file: str, heading: str, complete: bool
    ) -> None:
        """Show a kept figure."""
        if self.strip.going:
            return
        self.file = file
        self._show(curves, heading)
        self.strip.show_recorded(words.recorded(complete), complete=complete)

    def export(self, path: Path) -> None:
        """Write the figure as PNG or SVG, by the ending.

        Raises:
            ValueError: if the ending is another one.
            OSError: if the file cannot be written.
        """
        self._add_cards()
        assert self.cards is not None
        self.cards.export(path, f"Figure 1 · {self.heading}".removesuffix(" · "))

    def numbers(self) -> Table:
        """Return what is shown as a table, one K a line."""
        return words.table(self.curves, self.paper.isChecked())

    def showEvent(self, event: QShowEvent) -> None:
        """Look for kept figures when the panel is opened, and build the plots once."""
        self.opened.emit()
        # Their library is slow to import: the rest of the panel shows first.
        QTimer.singleShot(0, self._add_cards)

    @Slot()
    def _add_cards(self) -> None:
        if self.cards is not None:
            return
        from app.views.figure_cards import FigureCards

        self.cards = FigureCards()
        self._room.addWidget(self.cards)
        self.verticalScrollBar().valueChanged.connect(self.cards.draw_soon)
        self._draw()

    def _put(self, *cells: SweepCell) -> None:
        found = {(c.prompt_kind, c.lookahead): c for c in cells}
        self._cells |= {k: c for k, c in found.items() if k[0] != ALL_KINDS}
        assert self._costs is not None
        self._show(figure_curves(self._cells.values(), self._costs), self.heading)

    def _show(self, curves: tuple[FigureCurve, ...], heading: str) -> None:
        self.curves, self.heading = curves, heading
        self._draw()

    @Slot()
    def _draw(self) -> None:
        """Let plots and words follow the curves and the switch."""
        paper = self.paper.isChecked()
        measured = self.shown is not None
        self.caption.setText(self.heading)
        self.legend.setText(f"{words.LEGEND} {words.PAPER if paper else ''}".strip())
        self.said.setText("\n".join(map(words.sentence, self.curves)))
        self.said.setVisible(measured)
        self.save.setEnabled(measured)
        if self.cards is not None:
            self.cards.show_curves(self.curves, paper)

    # Building ---------------------------------------------------------------------

    def _configure(self) -> None:
        self.setFrameShape(QFrame.Shape.NoFrame)
        for text, value in TEMPERATURES:
            self.temperature.addItem(text, value)
        for repeats in REPEATS:
            self.repeats.addItem(count(repeats, "repeat"), repeats)
        self.temperature.setAccessibleName("Temperature")
        self.repeats.setAccessibleName("Repeats")
        self.paper.setToolTip(words.PAPER)
        self.paper.setAccessibleDescription(words.PAPER)
        self.save.setAccessibleDescription("Write the figure as PNG, SVG or CSV.")
        self.said.setWordWrap(True)
        self.said.setAccessibleName("What the figure says")

    def _place(self) -> None:
        card, asked, shown = QFrame(), row_in(), row_in()
        card.setProperty("card", True)
        title = QLabel("Does this pair do what the paper's did?")
        title.setProperty("role", "title")
        for text, field in (("&T", self.temperature), ("R&epeats", self.repeats)):
            label = QLabel(text)
            label.setBuddy(field)
            asked.addWidget(label)
            asked.addWidget(field)
        asked.addWidget(self.total, 1)
        shown.addWidget(self.paper)
        shown.addWidget(self.kept, 1)
        shown.addWidget(self.save)
        column = column_in(card, spacing=10, margins=(16, 14, 16, 14))
        for widget in (title, muted(words.INTRODUCTION)):
            column.addWidget(widget)
        column.addLayout(asked)
        column.addWidget(self.strip)
        column.addLayout(shown)
        column.addWidget(self.caption)
        column.addLayout(self._room)
        for widget in (self.said, self.legend):
            column.addWidget(widget)
        column.addStretch(1)
        self.setWidget(card)

    def _wire(self) -> None:
        self.temperature.activated.connect(self._tell_total)
        self.repeats.activated.connect(self._tell_total)
        self.paper.toggled.connect(self._draw)
        self.kept.activated.connect(self.strip.forget_end)
        self.kept.activated.connect(self.kept_chosen)
        self.save.clicked.connect(self.save_asked)

    @Slot()
    def _tell_total(self) -> None:
        self.total.setText(words.total(self.plan()))
