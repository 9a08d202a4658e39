"""The few small widgets that every panel is made of."""

from __future__ import annotations

from typing import TypeVar

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import (
    QBoxLayout,
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QStyle,
    QStyleOptionComboBox,
    QStylePainter,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.theme import Theme, notifier, set_role

WIDEST = "Max new tokens"
GAP = 8
MARGIN = 16
SLACK = 4  # pixels by which a combo's own size hint may be short
_Margins = tuple[int, int, int, int]
_NONE: _Margins = (0, 0, 0, 0)
_Layout = TypeVar("_Layout", bound=QBoxLayout)


def column_in(
    parent: QWidget | None = None, spacing: int = GAP, margins: _Margins = _NONE
) -> QVBoxLayout:
    """Return a layout from top to bottom, filling ``parent`` if there is one."""
    return _spaced(QVBoxLayout(parent) if parent else QVBoxLayout(), spacing, margins)


def row_in(
    parent: QWidget | None = None, spacing: int = GAP, margins: _Margins = _NONE
) -> QHBoxLayout:
    """Return a layout from left to right, filling ``parent`` if there is one."""
    return _spaced(QHBoxLayout(parent) if parent else QHBoxLayout(), spacing, margins)


def _spaced(layout: _Layout, spacing: int, margins: _Margins) -> _Layout:
    layout.setSpacing(spacing)
    layout.setContentsMargins(*margins)
    return layout


def section_title(text: str) -> QLabel:
    """Return the small heading of a part of a column."""
    label = QLabel(text.upper())
    label.setProperty("role", "section")
    label.setAccessibleName(text)
    return label


def muted(text: str = "") -> QLabel:
    """Return a small label for what need not be read first."""
    label = QLabel(text)
    label.setProperty("role", "muted")
    label.setWordWrap(True)
    return label


class NameLabel(QLabel):
    """The label in front of a control, tied to it for screen readers.

    All of a column are as wide as the widest of the main ones, at any size of type.
    """

    def __init__(
        self, text: str, buddy: QWidget | None = None, widest: str = WIDEST
    ) -> None:
        super().__init__(text)
        self._widest = widest
        if buddy is not None:
            self.setBuddy(buddy)
        self._fit()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._fit()

    def _fit(self) -> None:
        metrics = self.fontMetrics()
        widest = max(self._widest, self.text(), key=metrics.horizontalAdvance)
        width = metrics.horizontalAdvance(widest) + 2
        if width != self.maximumWidth():
            self.setFixedWidth(width)


def set_label_role(label: QLabel, role: str, text: str) -> None:
    """Give ``label`` a text and the colour of its meaning."""
    label.setText(text)
    if label.property("role") != role:
        set_role(label, role=role)


class ElidedCombo(QComboBox):
    """A combo box as narrow as the column wants; a long name ends in an ellipsis."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.setSizeAdjustPolicy(_ANY_WIDTH)
        self.setMinimumContentsLength(6)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, option = QStylePainter(self), QStyleOptionComboBox()
        self.initStyleOption(option)
        painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
        field = self.style().subControlRect(
            QStyle.ComplexControl.CC_ComboBox,
            option,
            QStyle.SubControl.SC_ComboBoxEditField,
            self,
        )
        metrics, dots = self.fontMetrics(), Qt.TextElideMode.ElideRight
        room = field.width() + SLACK
        option.currentText = metrics.elidedText(option.currentText, dots, room)  # type: ignore[attr-defined]
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)


class Rule(QFrame):
    """A thin line between two parts of a column."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFixedHeight(1)
        self.setBackgroundRole(QPalette.ColorRole.Mid)
        self.setAutoFillBackground(True)


class LinkButton(QPushButton):
    """A button that reads as a link: for what is seldom needed."""

    def __init__(self, text: str, parent: QWidget | None = None) -> None:
        super().__init__(text, parent)
        self.setFlat(True)
        self.setProperty("link", True)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)


class Fold(QWidget):
    """A heading that unfolds what stands under it.

    Signals:
        toggled: whether it is open now.
    """

    toggled = Signal(bool)

    def __init__(self, title: str, content: QWidget) -> None:
        super().__init__()
        self._content = content
        self._button = QToolButton()
        self._button.setText(title)
        self._button.setCheckable(True)
        self._button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self._button.setAutoRaise(True)
        self._button.setProperty("fold", True)
        self._button.toggled.connect(self._on_toggled)
        column = column_in(self)
        column.addWidget(self._button)
        column.addWidget(content)
        self._on_toggled(False)

    @property
    def is_open(self) -> bool:
        """Whether the content shows."""
        return self._button.isChecked()

    def set_open(self, opened: bool) -> None:
        """Unfold or fold away."""
        self._button.setChecked(opened)

    @Slot(bool)
    def _on_toggled(self, opened: bool) -> None:
        arrow = Qt.ArrowType.DownArrow if opened else Qt.ArrowType.RightArrow
        self._button.setArrowType(arrow)
        self._content.setVisible(opened)
        self.toggled.emit(opened)


class Badge(QWidget):
    """A word in a rounded frame: where the numbers on screen come from."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._text, self._role = "", "accepted"
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        notifier().changed.connect(self._on_theme_changed)

    def show_word(self, text: str, role: str, explanation: str = "") -> None:
        """Show ``text`` in the ink of ``role``; an empty text hides the badge."""
        self._text, self._role = text, role
        self.setVisible(bool(text))
        self.setToolTip(explanation)
        self.setAccessibleName(text)
        self.setAccessibleDescription(explanation)
        self.updateGeometry()
        self.update()

    def text(self) -> str:
        """Return the word."""
        return self._text

    def sizeHint(self) -> QSize:
        metrics = self.fontMetrics()
        width = metrics.horizontalAdvance(self._text)
        return QSize(width + 16, metrics.height() + 4)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ink: QColor = Theme.current().color(self._role)
        painter.setPen(ink)
        box = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.drawRoundedRect(box, 4, 4)
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, self._text)

    @Slot(object)
    def _on_theme_changed(self, theme: object) -> None:
        self.update()


class Meter(QWidget):
    """A flat bar: how much of something is taken."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._share, self._role = 0.0, "accent"
        self.setFixedHeight(8)
        notifier().changed.connect(self._on_theme_changed)

    def show_share(self, share: float, role: str = "accent") -> None:
        """Fill ``share`` (0 to 1) of the bar."""
        self._share, self._role = max(0.0, min(1.0, share)), role
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme = QPainter(self), Theme.current()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        box = QRectF(self.rect())
        painter.setBrush(theme.color("track"))
        painter.drawRoundedRect(box, 4, 4)
        box.setWidth(max(box.height(), box.width() * self._share))
        painter.setBrush(theme.color(self._role))
        if self._share > 0:
            painter.drawRoundedRect(box, 4, 4)

    @Slot(object)
    def _on_theme_changed(self, theme: object) -> None:
        self.update()


_ANY_WIDTH = QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
