"""The Lab page: a list of experiments on the left, the chosen one beside it."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from PySide6.QtCore import QSize, Slot
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QStackedWidget, QWidget

from app.fonts import text_font
from app.jobs import Finding, State
from app.panels.banner import BannerArea
from app.panels.parts import MARGIN, column_in, row_in
from app.theme import Theme, notifier

WIDEST = "Exactness and so on"  # the list is as wide as this at any size of type


@runtime_checkable
class LabSection(Protocol):
    """An experiment that runs in the background. Other widgets may be sections too."""

    def on_finding(self, finding: Finding) -> str:
        """Take in what a job found; return words for the status line, or none."""
        ...

    def show_state(self, state: State) -> None:
        """Offer what can be done in ``state``."""
        ...


class LabPage(QWidget):
    """Places the experiments and hands findings to whichever of them they concern.

    Signals:
        none.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.banners = BannerArea()
        self.sections = QListWidget()
        self.sections.setAccessibleName("Experiments")
        self.stack = QStackedWidget()
        self.sections.currentRowChanged.connect(self.stack.setCurrentIndex)
        notifier().changed.connect(self._on_theme_changed)
        self._place()

    def _place(self) -> None:
        right = column_in(spacing=MARGIN)
        right.addWidget(self.banners)
        right.addWidget(self.stack, 1)
        row = row_in(self, spacing=MARGIN, margins=(MARGIN, MARGIN, MARGIN, MARGIN))
        row.addWidget(self.sections)
        row.addLayout(right, 1)
        self._fit()

    def add_section(self, title: str, widget: QWidget) -> None:
        """Offer one more experiment."""
        item = QListWidgetItem(title, self.sections)
        item.setSizeHint(QSize(0, self._row_height()))
        self.stack.addWidget(widget)
        if self.sections.currentRow() < 0:
            self.sections.setCurrentRow(0)

    def show_section(self, widget: QWidget) -> None:
        """Open an experiment."""
        self.sections.setCurrentRow(self.stack.indexOf(widget))

    def on_finding(self, finding: Finding) -> str:
        """Hand a finding to every experiment; return words for the status line."""
        said = [section.on_finding(finding) for section in self._running()]
        return next(filter(None, said), "")

    def show_state(self, state: State) -> None:
        """Offer what can be done in ``state``."""
        for section in self._running():
            section.show_state(state)

    def _running(self) -> list[LabSection]:
        widgets = (self.stack.widget(i) for i in range(self.stack.count()))
        return [w for w in widgets if isinstance(w, LabSection)]

    def _row_height(self) -> int:
        return self.fontMetrics().height() + 14

    def _fit(self) -> None:
        self.sections.setFont(text_font())
        width = self.sections.fontMetrics().horizontalAdvance(WIDEST)
        self.sections.setFixedWidth(width + 2 * MARGIN)
        for i in range(self.sections.count()):
            self.sections.item(i).setSizeHint(QSize(0, self._row_height()))

    @Slot(object)
    def _on_theme_changed(self, theme: Theme) -> None:
        self._fit()
