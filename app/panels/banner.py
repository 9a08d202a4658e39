"""Errors and notes above the lanes: one sentence, its detail unfolds, never a modal."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QFrame,
    QLabel,
    QPlainTextEdit,
    QToolButton,
    QWidget,
)

from app.fonts import token_font
from app.panels.parts import LinkButton, column_in, row_in
from app.theme import Theme, notifier

MOST = 3  # older ones give way


class Banner(QFrame):
    """One sentence for the person, until they dismiss it.

    Signals:
        dismissed: the banner itself.
    """

    dismissed = Signal(object)

    def __init__(self, sentence: str, detail: str = "", role: str = "error") -> None:
        super().__init__()
        self.role = role
        self.setProperty("card", True)
        self.sentence = QLabel(sentence, wordWrap=True)
        self.sentence.setTextFormat(Qt.TextFormat.PlainText)
        self.sentence.setTextInteractionFlags(_SELECTABLE)
        self.sentence.setAccessibleName("Error" if role == "error" else "Note")
        self.detail = QPlainTextEdit(detail, readOnly=True)
        self.detail.setAccessibleName("Details")
        self.detail.setProperty("field", True)
        self.detail.setFont(token_font("small"))
        self.detail.setFixedHeight(120)
        self.detail.hide()
        self.unfold = LinkButton("Details")
        self.unfold.setCheckable(True)
        self.unfold.setVisible(bool(detail))
        self.unfold.toggled.connect(self.detail.setVisible)
        self.close_button = QToolButton()
        self.close_button.setText("×")
        self.close_button.setAutoRaise(True)
        self.close_button.setAccessibleName("Dismiss")
        self.close_button.setToolTip("Dismiss")
        self.close_button.clicked.connect(self._on_close_clicked)
        self._place()
        notifier().changed.connect(self._on_theme_changed)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self)
        painter.fillRect(1, 8, 3, self.height() - 16, Theme.current().color(self.role))

    def _place(self) -> None:
        row = row_in()
        row.addWidget(self.sentence, 1)
        row.addWidget(self.unfold)
        row.addWidget(self.close_button)
        column = column_in(self, margins=(14, 8, 8, 8))
        column.addLayout(row)
        column.addWidget(self.detail)

    @Slot()
    def _on_close_clicked(self) -> None:
        self.dismissed.emit(self)

    @Slot(object)
    def _on_theme_changed(self, theme: object) -> None:
        self.update()


class BannerArea(QWidget):
    """The banners that stand, errors first; takes no room without one."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._column = column_in(self)
        self.hide()

    def show_error(self, sentence: str, detail: str = "") -> None:
        """Say what went wrong."""
        self._show(Banner(sentence, detail, "error"))

    def show_note(self, sentence: str, detail: str = "") -> None:
        """Say what a person should know."""
        if sentence not in [b.sentence.text() for b in self.banners()]:
            self._show(Banner(sentence, detail, "accent"))

    def clear(self) -> None:
        """Dismiss all."""
        for banner in self.banners():
            self._on_dismissed(banner)

    def banners(self) -> list[Banner]:
        """Return what stands now, from the top."""
        items = (self._column.itemAt(i) for i in range(self._column.count()))
        widgets = (item.widget() for item in items if item is not None)
        return [w for w in widgets if isinstance(w, Banner)]

    def _show(self, banner: Banner) -> None:
        banner.dismissed.connect(self._on_dismissed)
        # Errors on top, notes under them; the newest of each kind first.
        errors = [b for b in self.banners() if b.role == "error"]
        self._column.insertWidget(0 if banner.role == "error" else len(errors), banner)
        for old in self.banners()[MOST:]:
            self._on_dismissed(old)
        self.show()

    @Slot(object)
    def _on_dismissed(self, banner: Banner) -> None:
        self._column.removeWidget(banner)
        banner.hide()
        banner.deleteLater()
        self.setVisible(bool(self.banners()))


_SELECTABLE = (
    Qt.TextInteractionFlag.TextSelectableByMouse
    | Qt.TextInteractionFlag.TextSelectableByKeyboard
)
