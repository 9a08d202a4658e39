"""The settings that decide which tokens come out, built from the core's own facts."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import (
    QCheckBox,
    QPlainTextEdit,
    QPushButton,
    QWidget,
)

from app.panels.number_field import NumberField, NumberSlider
from app.panels.parts import (
    WIDEST,
    ElidedCombo,
    Fold,
    NameLabel,
    column_in,
    muted,
    row_in,
    section_title,
)
from core.config import Coupling, DecodingConfig, FieldInfo, describe

# Sliders for what is tried out by moving it; above 1 small values get more room.
CURVES = {
    "lookahead": 1.0,
    "temperature": 2.0,
    "top_p": 1.0,
    "top_k": 3.0,
    "min_p": 2.0,
}
MAIN = (*CURVES, "coupling", "seed", "max_new_tokens")
COUPLINGS = {
    Coupling.MAXIMAL: "Maximal (Chen)",
    Coupling.SHARED_NOISE: "Shared noise",
}
WIDEST_OF_MORE = "Repetition penalty"
TIGHT = 4  # between rows; there are many
LIVE_IN_RACE = ("lookahead", "auto_lookahead")
BESIDE = {"auto_lookahead": "lookahead"}  # switches that stand in another one's row


class Phase(Enum):
    """What goes on, as far as the settings care."""

    IDLE = auto()
    RUNNING = auto()
    RACING = auto()


class DecodingPanel(QWidget):
    """Every field of DecodingConfig as a control within its limits.

    Signals:
        changed: the DecodingConfig that the controls show now.
    """

    changed = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._fields: dict[str, _Field] = {}
        self._filling = False
        self._note = muted()
        self._note.hide()
        more = QWidget()
        rows, seldom = column_in(self, TIGHT), column_in(more, TIGHT)
        rows.addWidget(section_title("Decoding"))
        rows.addSpacing(TIGHT)
        for name, info in sorted(describe().items(), key=_order):
            field = _make_field(name, info)
            field.changed.connect(self._on_field_changed)
            self._fields[name] = field
            if name in BESIDE:
                self._fields[BESIDE[name]].take_beside(field)
            else:
                (rows if name in MAIN else seldom).addWidget(field)
        self.more = Fold("More", more)
        rows.addWidget(self.more)
        rows.addWidget(self._note)

    def config(self) -> DecodingConfig:
        """Return what the controls show; they cannot show a value that is refused."""
        return DecodingConfig(**{n: f.value() for n, f in self._fields.items()})

    def set_config(self, config: DecodingConfig) -> None:
        """Show ``config`` and say nothing."""
        self._filling = True
        for name, field in self._fields.items():
            field.set_value(getattr(config, name))
        self._filling = False

    def set_phase(self, phase: Phase) -> None:
        """Leave alone what cannot act now, and say why."""
        for name, field in self._fields.items():
            field.set_lock(_lock(phase, name, field.info))
        self._note.setVisible(phase is Phase.RACING)
        self._note.setText(
            "In a race K acts at once; the rest waits for the next race."
        )

    def field(self, name: str) -> _Field:
        """Return the row of a setting."""
        return self._fields[name]

    @Slot()
    def _on_field_changed(self) -> None:
        if not self._filling:
            self.changed.emit(self.config())


def _order(item: tuple[str, FieldInfo]) -> int:
    return MAIN.index(item[0]) if item[0] in MAIN else len(MAIN)


def _lock(phase: Phase, name: str, info: FieldInfo) -> str:
    """Return why the setting cannot be changed now, or an empty text."""
    if phase is Phase.RACING and name not in LIVE_IN_RACE:
        return f"{info.label} waits for the next race."
    if phase is Phase.RUNNING and not info.live:
        return f"{info.label} is fixed while a run goes on; it waits for the next run."
    return ""


class _Field(QWidget):
    """One setting: its label and its control.

    Signals:
        changed: a person chose another value.
    """

    changed = Signal()

    def __init__(self, name: str, info: FieldInfo) -> None:
        super().__init__()
        self.name, self.info = name, info
        self._row = row_in(self)
        self._controls: list[QWidget] = []

    def value(self) -> Any:
        raise NotImplementedError

    def set_value(self, value: Any) -> None:
        raise NotImplementedError

    def set_lock(self, reason: str) -> None:
        """Disable with a reason, or enable where there is none."""
        self.setEnabled(not reason)
        self.setToolTip(reason or self.info.help)
        for control in self._controls:
            control.setToolTip(reason or self.info.help)
            control.setAccessibleDescription(reason or self._facts())

    def take_beside(self, other: _Field) -> None:
        """Give a small switch a place at the end of this row."""
        self._row.addWidget(other)

    def _add(self, control: QWidget, stretch: int = 0) -> None:
        control.setAccessibleName(self.info.label)
        self._controls.append(control)
        self._row.addWidget(control, stretch)

    def _name(self, buddy: QWidget) -> None:
        widest = WIDEST if self.name in MAIN else WIDEST_OF_MORE
        self._row.addWidget(NameLabel(self.info.label, buddy, widest))

    def _facts(self) -> str:
        unit = f" In {self.info.unit}." if self.info.unit else ""
        return self.info.help + unit

    @Slot()
    def _on_changed(self) -> None:
        self.changed.emit()


class _NumberRow(_Field):
    def __init__(self, name: str, info: FieldInfo) -> None:
        super().__init__(name, info)
        # The slider first: the tab key follows the order of making.
        self.slider = NumberSlider(info, CURVES[name]) if name in CURVES else None
        self.box = NumberField(info)
        self._name(self.box)
        if self.slider is not None:
            self.slider.number_changed.connect(self.box.setValue)
            self._add(self.slider, 1)
            self.box.stand_beside()
        self._add(self.box, 0 if self.slider else 1)
        self.box.valueChanged.connect(self._on_value_changed)
        self.set_lock("")

    def value(self) -> int | float:
        return self.box.number()

    def set_value(self, value: Any) -> None:
        self.box.setValue(value)

    @Slot(float)
    def _on_value_changed(self, value: float) -> None:
        # The slider snaps and must not push its own rounding back into the box.
        if self.slider is not None and not self.slider.isSliderDown():
            self.slider.show_number(value)
        self._on_changed()


class _ChoiceRow(_Field):
    def __init__(self, name: str, info: FieldInfo) -> None:
        super().__init__(name, info)
        self.box = ElidedCombo(info.label)
        for coupling, text in COUPLINGS.items():
            self.box.addItem(text, coupling)
        self._name(self.box)
        self._add(self.box, 1)
        self.box.currentIndexChanged.connect(self._on_changed)
        self.set_lock("")

    def value(self) -> Coupling:
        return Coupling(self.box.currentData())

    def set_value(self, value: Any) -> None:
        self.box.setCurrentIndex(list(COUPLINGS).index(Coupling(value)))


class _FlagRow(_Field):
    def __init__(self, name: str, info: FieldInfo) -> None:
        super().__init__(name, info)
        self.box = QCheckBox(info.label)
        self._add(self.box, 1)
        self.box.toggled.connect(self._on_changed)
        self.set_lock("")

    def value(self) -> bool:
        return self.box.isChecked()

    def set_value(self, value: Any) -> None:
        self.box.setChecked(value)


class _SwitchBeside(_Field):
    """A switch at the end of the row that it is about: a short name is enough."""

    def __init__(self, name: str, info: FieldInfo) -> None:
        super().__init__(name, info)
        self.box = QPushButton("Auto")
        self.box.setCheckable(True)
        self.box.setProperty("switch", True)
        self._add(self.box)
        self.box.toggled.connect(self._on_changed)
        self.set_lock("")

    def value(self) -> bool:
        return self.box.isChecked()

    def set_value(self, value: Any) -> None:
        self.box.setChecked(value)


class _LinesRow(_Field):
    """Texts, one a line; a line break inside one is typed as \\n."""

    def __init__(self, name: str, info: FieldInfo) -> None:
        super().__init__(name, info)
        self.box = QPlainTextEdit(tabChangesFocus=True)
        self.box.setProperty("field", True)
        self.box.setPlaceholderText("one a line; \\n for a line break")
        self.box.setFixedHeight(58)
        self._name(self.box)
        self._add(self.box, 1)
        self.box.textChanged.connect(self._on_changed)
        self.set_lock("")

    def value(self) -> tuple[str, ...]:
        lines = self.box.toPlainText().split("\n")
        return tuple(_unescaped(line) for line in lines if line)

    def set_value(self, value: Any) -> None:
        self.box.setPlainText("\n".join(_escaped(text) for text in value))


_FIELD_TYPES: dict[str, type[_Field]] = {
    "coupling": _ChoiceRow,
    "stop": _LinesRow,
    "ignore_eos": _FlagRow,
    "auto_lookahead": _SwitchBeside,
}


def _make_field(name: str, info: FieldInfo) -> _Field:
    return _FIELD_TYPES.get(name, _NumberRow)(name, info)


def _escaped(text: str) -> str:
    pairs = (("\\", "\\\\"), ("\n", "\\n"), ("\t", "\\t"), ("\r", "\\r"))
    for plain, typed in pairs:
        text = text.replace(plain, typed)
    return text


def _unescaped(typed: str) -> str:
    parts = typed.split("\\\\")
    for mark, plain in (("\\n", "\n"), ("\\t", "\t"), ("\\r", "\r")):
        parts = [part.replace(mark, plain) for part in parts]
    return "\\".join(parts)
