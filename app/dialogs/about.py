"""What this is, which version, under which licence."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QWidget

from app.panels.parts import column_in
from core.machine import package_version

TEXT = (
    "<p>Watch, tune and race speculative sampling on your own checkpoints.</p>"
    "<p>The method: Chen et al. 2023, <i>Accelerating Large Language Model Decoding "
    'with Speculative Sampling</i>, <a href="https://arxiv.org/abs/2302.01318">'
    "arXiv:2302.01318</a>.</p>"
    "<p>Licence: Apache-2.0. Built with Qt for Python (LGPL), PyQtGraph, PyTorch and "
    "Transformers.</p>"
)


class About(QDialog):
    """A few lines about the program."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("About Draftrace")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        title = QLabel(f"Draftrace {package_version('draftrace')}")
        title.setProperty("role", "title")
        text = QLabel(TEXT, wordWrap=True)
        text.setOpenExternalLinks(True)
        text.setMinimumWidth(380)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        column = column_in(self, spacing=12, margins=(20, 20, 20, 16))
        column.addWidget(title)
        column.addWidget(text)
        column.addWidget(buttons)
