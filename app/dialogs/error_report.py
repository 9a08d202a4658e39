"""Our own fault: say so, and give the person what a bug report needs."""

from __future__ import annotations

import platform

import PySide6
from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QDialog,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QWidget,
)

from app.fonts import token_font
from app.panels.parts import column_in, row_in
from core.redaction import without_secrets

SENTENCE = (
    "Draftrace ran into a fault of its own. The window stays usable and the text so "
    "far is kept. The report below has no access token in it; please pass it on."
)


class ErrorReport(QDialog):
    """The traceback and the versions, to copy."""

    def __init__(self, trace: str, log: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("A fault in Draftrace")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(640, 420)
        self.report = QPlainTextEdit(report_text(trace), readOnly=True)
        self.report.setProperty("field", True)
        self.report.setFont(token_font("small"))
        self.report.setAccessibleName("Report")
        self._place(log)

    def _place(self, log: str) -> None:
        column = column_in(self, spacing=12, margins=(16, 16, 16, 16))
        for text in (SENTENCE, f"Log file: {log}"):
            label = QLabel(text, wordWrap=True)
            label.setTextInteractionFlags(_SELECTABLE)
            column.addWidget(label)
        column.addWidget(self.report, 1)
        copy, close = QPushButton("Copy report"), QPushButton("Close")
        copy.clicked.connect(self._on_copy_clicked)
        close.clicked.connect(self.accept)
        close.setDefault(True)
        row = row_in()
        row.addWidget(copy)
        row.addStretch(1)
        row.addWidget(close)
        column.addLayout(row)

    @Slot()
    def _on_copy_clicked(self) -> None:
        QGuiApplication.clipboard().setText(self.report.toPlainText())


def report_text(trace: str) -> str:
    """Return the traceback with versions, without secrets."""
    versions = f"Python {platform.python_version()}, PySide6 {PySide6.__version__}"
    return without_secrets(f"{versions}, {platform.platform()}\n\n{trace}")


_SELECTABLE = Qt.TextInteractionFlag.TextSelectableByMouse
