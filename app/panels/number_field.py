"""A number with limits, and the slider beside it; both built from the core's facts."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QLocale, QSize, Qt, Signal, Slot
from PySide6.QtGui import QValidator, QWheelEvent
from PySide6.QtWidgets import QDoubleSpinBox, QSizePolicy, QSlider, QWidget

from core.config import FieldInfo

OFF = "off"
SLIDER_STEPS = 1000


def is_whole(info: FieldInfo) -> bool:
    """Return whether the setting takes whole numbers only."""
    return bool(info.step) and info.step % 1 == 0  # type: ignore[operator]


class NumberField(QDoubleSpinBox):
    """One number; the value that switches the setting off reads "off".

    A double box also for whole numbers: an int box ends at 2^31, seeds do not.
    """

    def __init__(self, info: FieldInfo, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._off = info.off
        self._whole = is_whole(info)
        plain = QLocale.c()  # a decimal point, as everywhere else in the window
        plain.setNumberOptions(QLocale.NumberOption.OmitGroupSeparator)
        self.setLocale(plain)
        self.setDecimals(0 if self._whole else 4)
        self.setRange(info.minimum or 0.0, info.maximum or 0.0)
        self.setSingleStep(info.step or 1.0)
        self.setKeyboardTracking(False)  # typing 12 is not first 1, then 12
        # The stylesheet gives the buttons no width. Doing without them by
        # setButtonSymbols leaves the styled box an edit field of one pixel.
        self.lineEdit().setTextMargins(6, 0, 6, 0)
        self.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def stand_beside(self) -> None:
        """Be as wide as a value of a slider needs, at any size of type."""
        self.setProperty("beside", True)
        self._fit()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._fit()

    def _fit(self) -> None:
        width = self.fontMetrics().horizontalAdvance("0.0000") + 16
        if self.property("beside") and width != self.maximumWidth():
            self.setFixedWidth(width)

    def minimumSizeHint(self) -> QSize:
        """Return a width that does not follow the longest seed there could be."""
        hint = super().minimumSizeHint()
        return QSize(self.fontMetrics().horizontalAdvance("0" * 8), hint.height())

    def number(self) -> int | float:
        """Return the value in the type that the setting has."""
        return int(self.value()) if self._whole else round(self.value(), 4)

    def textFromValue(self, value: float) -> str:
        if self._off is not None and value == self._off:
            return OFF
        return f"{value:.0f}" if self._whole else _short(value)

    def valueFromText(self, text: str) -> float:
        if self._off is not None and text.strip().lower() == OFF:
            return float(self._off)
        return super().valueFromText(text)

    def validate(self, text: str, position: int) -> tuple[QValidator.State, str, int]:
        typed = text.strip().lower()
        if self._off is not None and typed and OFF.startswith(typed):
            whole = typed == OFF
            state = QValidator.State.Acceptable if whole else _INTERMEDIATE
            return state, text, position
        return super().validate(text, position)

    def wheelEvent(self, event: QWheelEvent) -> None:
        _only_when_focused(self, event, super().wheelEvent)


class NumberSlider(QSlider):
    """A slider over the limits of a setting, finer where small values matter.

    Signals:
        number_changed: the value that a person moved it to.
    """

    number_changed = Signal(float)

    def __init__(self, info: FieldInfo, curve: float = 1.0) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self._info, self._curve = info, curve
        span = (info.maximum or 0) - (info.minimum or 0)
        coarse = is_whole(info) and span <= SLIDER_STEPS and curve == 1.0
        self._steps = int(span) if coarse else SLIDER_STEPS
        self.setRange(0, self._steps)
        self.setPageStep(max(1, self._steps // 10))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.valueChanged.connect(self._on_value_changed)

    def show_number(self, value: float) -> None:
        """Move to ``value`` without telling anybody."""
        low, span = self._limits()
        self.blockSignals(True)
        self.setValue(round(((value - low) / span) ** (1 / self._curve) * self._steps))
        self.blockSignals(False)

    def wheelEvent(self, event: QWheelEvent) -> None:
        _only_when_focused(self, event, super().wheelEvent)

    @Slot(int)
    def _on_value_changed(self, value: int) -> None:
        low, span = self._limits()
        exact = low + span * (value / self._steps) ** self._curve
        step = self._info.step or 1.0
        snapped = low + round((exact - low) / step) * step
        self.number_changed.emit(min(low + span, snapped))

    def _limits(self) -> tuple[float, float]:
        low, high = self._info.minimum or 0.0, self._info.maximum or 0.0
        return low, high - low


_INTERMEDIATE = QValidator.State.Intermediate


def _short(value: float) -> str:
    """Return at least two decimals and no needless ones: 0.70, 0.025."""
    text = f"{value:.4f}".rstrip("0")
    return text + "0" * max(0, 2 - len(text.partition(".")[2]))


def _only_when_focused(widget, event: QWheelEvent, turn) -> None:
    """Scroll the column, not the value, unless a person chose this control."""
    if widget.hasFocus():
        turn(event)
    else:
        event.ignore()
