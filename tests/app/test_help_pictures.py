"""The help window shows the pictures of its pages within its own width."""

from __future__ import annotations

import re

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtGui import QTextDocument

import resources
from app.dialogs.help_window import HelpWindow, help_pages

pytestmark = pytest.mark.window

PICTURES = [
    (page, name)
    for page in help_pages()
    for name in re.findall(r"!\[[^]]*\]\(([^)]+)\)", resources.text(page))
]


@pytest.mark.parametrize(("page", "name"), PICTURES)
def test_a_picture_fits_its_page(qtbot, page, name):
    window = HelpWindow()
    qtbot.addWidget(window)
    window.show()
    window.show_page(page)
    kind = QTextDocument.ResourceType.ImageResource.value
    image = window.browser.loadResource(kind, QUrl(name))
    assert not image.isNull()
    assert image.width() > 200
    assert window.browser.horizontalScrollBar().maximum() == 0


def test_the_pages_have_pictures():
    assert {name for _, name in PICTURES} >= {"sweep.png", "figure-1.png"}
