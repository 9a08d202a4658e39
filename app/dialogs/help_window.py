"""The help pages that ship with the program, readable without a network."""

from __future__ import annotations

from PySide6.QtCore import Qt, QUrl, Slot
from PySide6.QtGui import QImage, QTextDocument
from PySide6.QtWidgets import (
    QDialog,
    QListWidget,
    QListWidgetItem,
    QSplitter,
    QTextBrowser,
    QVBoxLayout,
    QWidget,
)

import resources
from app.theme import Theme, notifier

FOLDER = "help"
WIDE, WIDEST_LIST = 640, 400
FIRST = (f"{FOLDER}/reading-the-numbers.md", f"{FOLDER}/your-own-pair.md")


def help_pages() -> dict[str, str]:
    """Return the pages' titles by file name; the title is the first heading."""
    names = [n for n in resources.names(FOLDER) if n.endswith(".md")]
    names.sort(key=lambda name: (name not in FIRST, name))
    return {name: _title(resources.text(name), name) for name in names}


class PageBrowser(QTextBrowser):
    """Shows a page with the pictures that ship beside it, never wider than itself."""

    def loadResource(self, kind: int, url: QUrl | str) -> object:
        """Return a page's own picture; everything else is left to Qt."""
        url = QUrl(url)
        if kind != QTextDocument.ResourceType.ImageResource.value:
            return super().loadResource(kind, url)
        image = QImage(str(resources.path(f"{FOLDER}/{url.fileName()}")))
        ratio = self.devicePixelRatioF()
        edges = 2 * (self.frameWidth() + round(self.document().documentMargin()))
        room = self.width() - edges - self.verticalScrollBar().sizeHint().width()
        wide = round(min(image.width(), room) * ratio)
        image = image.scaledToWidth(wide, Qt.TransformationMode.SmoothTransformation)
        image.setDevicePixelRatio(ratio)
        return image


class HelpWindow(QDialog):
    """A list of pages and the page."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Draftrace help")
        self.resize(920, 640)
        self.pages = QListWidget()
        self.pages.setAccessibleName("Help pages")
        self.browser = PageBrowser()
        self.browser.setOpenExternalLinks(True)
        self.browser.setAccessibleName("Help page")
        self.pages.setWordWrap(True)
        self.pages.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        for name, title in help_pages().items():
            item = QListWidgetItem(title, self.pages)
            item.setData(_NAME, name)
        both = QSplitter()
        both.addWidget(self.pages)
        both.addWidget(self.browser)
        both.setSizes([self._list_width(), WIDE])
        QVBoxLayout(self).addWidget(both)
        self.pages.currentItemChanged.connect(self._on_page_chosen)
        notifier().changed.connect(self._on_theme_changed)
        self.pages.setCurrentRow(0)

    def _list_width(self) -> int:
        """Return a width in which most titles stand in one line."""
        metrics = self.pages.fontMetrics()
        titles = (self.pages.item(row).text() for row in range(self.pages.count()))
        return min(WIDEST_LIST, max(map(metrics.horizontalAdvance, titles)) + 40)

    def show_page(self, name: str) -> None:
        """Open the page of a file, for example ``help/verdict.md``."""
        for row in range(self.pages.count()):
            if self.pages.item(row).data(_NAME) == name:
                self.pages.setCurrentRow(row)

    @Slot(QListWidgetItem, QListWidgetItem)
    def _on_page_chosen(
        self, item: QListWidgetItem | None, before: QListWidgetItem | None = None
    ) -> None:
        if item is not None:
            dress(self.browser.document())
            self.browser.setMarkdown(resources.text(item.data(_NAME)))

    @Slot(object)
    def _on_theme_changed(self, theme: object) -> None:
        self._on_page_chosen(self.pages.currentItem())


def dress(document: QTextDocument) -> None:
    """Give a page room, and links the theme's colour."""
    document.setDocumentMargin(18)
    link = Theme.current().color("link").name()
    document.setDefaultStyleSheet(f"a {{ color: {link}; }}")


def _title(text: str, name: str) -> str:
    lines = (line for line in text.splitlines() if line.startswith("# "))
    return next(lines, name).removeprefix("# ").strip()


_NAME = 0x0100  # Qt.ItemDataRole.UserRole
