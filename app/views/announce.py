"""Telling a screen reader what changed."""

from __future__ import annotations

from PySide6 import QtGui
from PySide6.QtWidgets import QWidget


def announce(widget: QWidget, text: str) -> None:
    """Make ``text`` the widget's accessible description and have it spoken."""
    widget.setAccessibleDescription(text)
    speaks = hasattr(QtGui, "QAccessibleAnnouncementEvent")  # since Qt 6.8
    if speaks and QtGui.QAccessible.isActive():
        event = QtGui.QAccessibleAnnouncementEvent(widget, text)
        QtGui.QAccessible.updateAccessibility(event)
