"""A window with one plain text to read and copy: what doctor found, and the like."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QDialog,
    QPlainTextEdit,
    QPushButton,
    QWidget,
)

from app.fonts import token_font
from app.panels.parts import column_in, row_in


class TextWindow(QDialog):
    """Read-only text in a fixed font."""

    def __init__(self, title: str, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self.resize(720, 480)
        self.view = QPlainTextEdit(text, readOnly=True)
        self.view.setProperty("field", True)
        self.view.setFont(token_font())
        self.view.setAccessibleName(title)
        copy, close = QPushButton("Copy"), QPushButton("Close")
        copy.clicked.connect(self._on_copy_clicked)
        close.clicked.connect(self.accept)
        close.setDefault(True)
        column = column_in(self, spacing=12, margins=(16, 16, 16, 16))
        column.addWidget(self.view, 1)
        row = row_in()
        row.addWidget(copy)
        row.addStretch(1)
        row.addWidget(close)
        column.addLayout(row)

    def set_text(self, text: str) -> None:
        """Show another text."""
        self.view.setPlainText(text)

    @Slot()
    def _on_copy_clicked(self) -> None:
        QGuiApplication.clipboard().setText(self.view.toPlainText())
