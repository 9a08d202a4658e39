"""Target and drafter, where they run, whether they fit, what memory they need."""

from __future__ import annotations

from pathlib import PurePath

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QWidget

from app.item_models.checkpoint_list import CheckpointList, Choice
from app.pair_outlook import PairOutlook
from app.panels.parts import (
    GAP,
    ElidedCombo,
    LinkButton,
    Meter,
    NameLabel,
    column_in,
    muted,
    row_in,
    section_title,
    set_label_role,
)
from core.config import DrafterKind, ModelConfig, PairConfig
from core.events import PairLoaded

AUTO = "auto"
DTYPES = (AUTO, "float32", "bfloat16", "float16")
EIGHT_BITS = "int8"
UNTESTED = ("cuda:all", EIGHT_BITS, "mps")  # nobody could run these
FIT_SIGNS: dict[bool | None, tuple[str, str]] = {
    True: ("good", "✓ "),
    False: ("error", "✗ "),
    None: ("muted", ""),
}
LOCKED = "The pair waits for the next run."
MAKE_DRAFT, MAKE_DRAFT_TIP = "Make a draft…", "Make a draft for this target (Ctrl+M)"
LINK_PADDING = 4
TIGHT = 0.9  # share of the free memory above which the bar warns


class PairPanel(QWidget):
    """Choose a pair; the core's findings about it are shown, not computed.

    Signals:
        changed: the PairConfig that is chosen now.
        path_asked: True for the target (else the draft), and the Ask.
        make_draft_asked: for the target that is chosen.
        make_draft_offered: whether a draft can be made for it.
        loaded: the PairConfig that is in memory now.
    """

    changed = Signal(object)
    path_asked = Signal(bool, object)
    make_draft_asked, make_draft_offered = Signal(), Signal(bool)
    loaded = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.target, self.drafter = ElidedCombo("Target"), ElidedCombo("Drafter")
        self.device = ElidedCombo("Device and number format")
        self.verdict, self.memory, self.meter = QLabel(), muted(), Meter()
        self.notes = muted()
        self.make_draft = LinkButton(MAKE_DRAFT)
        self.make_draft.setToolTip(MAKE_DRAFT_TIP)
        self._targets, self._drafters = CheckpointList(), CheckpointList()
        self._chosen: dict[QComboBox, Choice] = {}
        self._filling = False
        self._fill_fixed()
        self._place()
        self._wire()

    def pair(self) -> PairConfig:
        """Return the pair that is chosen."""
        target, drafter = self._chosen[self.target], self._chosen[self.drafter]
        device, dtype = self.device.currentData()
        kind = drafter.kind or DrafterKind.NONE
        draft = None
        if kind is DrafterKind.CHECKPOINT:
            draft = ModelConfig(drafter.reference, device, dtype)
        return PairConfig(ModelConfig(target.reference, device, dtype), kind, draft)

    def set_pair(self, pair: PairConfig) -> None:
        """Show ``pair`` and say nothing."""
        self._filling = True
        self._select(self.target, self._choice_of(pair.target.reference, None))
        reference = pair.draft.reference if pair.draft else ""
        self._select(self.drafter, self._choice_of(reference, pair.drafter))
        self._select_place(pair.target.device, pair.target.dtype)
        self._filling = False

    def set_choices(
        self, targets: tuple[Choice, ...], drafters: tuple[Choice, ...]
    ) -> None:
        """Offer what there is, keeping what is chosen."""
        self._filling = True
        for combo, model, choices in (
            (self.target, self._targets, targets),
            (self.drafter, self._drafters, drafters),
        ):
            model.set_choices(choices)
            if combo in self._chosen:
                self._select(combo, self._chosen[combo])
        self._filling = False

    def set_devices(self, devices: tuple[str, ...]) -> None:
        """Offer the devices of this machine."""
        self._filling = True
        now = self.device.currentData() or (AUTO, AUTO)
        self.device.clear()
        for device in devices:
            for dtype in (*DTYPES, *((EIGHT_BITS,) if "cuda" in device else ())):
                self.device.addItem(_place_name(device, dtype), (device, dtype))
        self._select_place(*now)
        self._filling = False

    def choose_path(self, for_target: bool, path: str) -> None:
        """Take a folder or file that the person chose."""
        combo = self.target if for_target else self.drafter
        kind = None if for_target else DrafterKind.CHECKPOINT
        self._select(combo, self._choice_of(path, kind))
        self._tell()

    def choose_pair(self, pair: PairConfig) -> None:
        """Take a whole pair that the person chose."""
        self.set_pair(pair)
        self._tell()

    def show_outlook(self, outlook: PairOutlook | None) -> None:
        """Show whether the pair fits and what it needs; None: being looked at."""
        if outlook is None:
            set_label_role(self.verdict, "muted", "Looking at the pair…")
            return
        role, sign = FIT_SIGNS[outlook.fits]
        set_label_role(self.verdict, role, sign + outlook.verdict)
        self._show_notes(outlook.reasons if outlook.fits else ())
        self._show_memory(outlook)
        self._offer_draft(outlook.no_draft)

    def show_loaded(self, loaded: PairLoaded) -> None:
        """Show what the core said when the pair was loaded."""
        draft = loaded.draft
        text = "fits · loaded" if draft else "the target alone, plain decoding"
        set_label_role(self.verdict, "good", f"✓ {text}")
        self._show_notes(loaded.notes)
        self.loaded.emit(self.pair())

    def _show_notes(self, notes: tuple[str, ...]) -> None:
        self.notes.setText("\n".join(notes))
        self.said.setVisible(bool(notes))

    def set_locked(self, locked: bool) -> None:
        """Keep the pair as it is while a run goes on."""
        for control in (self.target, self.drafter, self.device):
            control.setEnabled(not locked)
            control.setToolTip(LOCKED if locked else "")

    def _offer_draft(self, reason: str) -> None:
        """Offer to make a draft, or say why none can be made."""
        self.make_draft.setEnabled(not reason)
        self.make_draft.setToolTip(reason or MAKE_DRAFT_TIP)
        self.make_draft.setAccessibleDescription(reason)
        self.make_draft_offered.emit(not reason)

    def _show_memory(self, outlook: PairOutlook) -> None:
        needed, free = outlook.needed_bytes, outlook.free_bytes
        known = needed is not None and bool(free)
        self.needs.setVisible(known)
        if known:
            share = needed / free  # type: ignore[operator]
            self.meter.show_share(share, "warning" if share > TIGHT else "accent")
            self.memory.setText(f"needs {_gb(needed)} GB of {_gb(free)} free")

    # Building ---------------------------------------------------------------------

    def _fill_fixed(self) -> None:
        self.target.setModel(self._targets)
        self.drafter.setModel(self._drafters)
        self.set_devices((AUTO, "cpu"))
        self.verdict.setWordWrap(True)
        self.verdict.setAccessibleName("Whether the pair fits")

    def _place(self) -> None:
        column = column_in(self)
        column.addWidget(section_title("Pair"))
        column.addLayout(_row("Target", self.target))
        column.addLayout(_row("Drafter", self.drafter))
        column.addLayout(_indented(self.verdict))
        self.said = QWidget()
        said = _indented(self.notes)
        said.setContentsMargins(0, 0, 0, 0)
        self.said.setLayout(said)
        column.addWidget(self.said)
        self.said.hide()
        making = row_in(spacing=GAP - LINK_PADDING)
        making.addWidget(NameLabel(""))
        making.addWidget(self.make_draft)
        making.addStretch(1)
        column.addLayout(making)
        column.addLayout(_row("Device", self.device))
        self.needs = QWidget()
        needs = column_in(self.needs, spacing=4)
        needs.addLayout(_indented(self.meter))
        needs.addLayout(_indented(self.memory))
        column.addWidget(self.needs)
        self.needs.hide()

    def _wire(self) -> None:
        self.target.activated.connect(self._on_target_activated)
        self.make_draft.clicked.connect(self.make_draft_asked)
        self.drafter.activated.connect(self._on_drafter_activated)
        self.device.currentIndexChanged.connect(self._on_place_changed)

    @Slot(int)
    def _on_target_activated(self, row: int) -> None:
        self._activate(self.target, self._targets.choices[row])

    @Slot(int)
    def _on_drafter_activated(self, row: int) -> None:
        self._activate(self.drafter, self._drafters.choices[row])

    def _activate(self, combo: QComboBox, choice: Choice) -> None:
        if choice.ask is None:
            self._select(combo, choice)
            self._tell()
            return
        self._select(combo, self._chosen[combo])  # until a path is really chosen
        self.path_asked.emit(combo is self.target, choice.ask)

    @Slot(int)
    def _on_place_changed(self, index: int) -> None:
        self._tell()

    def _tell(self) -> None:
        if not self._filling:
            self.changed.emit(self.pair())

    def _select(self, combo: QComboBox, choice: Choice) -> None:
        """Select ``choice``, offering it first if the list does not know it."""
        model = combo.model()
        assert isinstance(model, CheckpointList)
        if model.find(choice) < 0:
            model.set_choices((choice, *model.choices))
        self._chosen[combo] = choice
        combo.setCurrentIndex(model.find(choice))
        combo.setToolTip(choice.note or choice.reference)

    def _choice_of(self, reference: str, kind: DrafterKind | None) -> Choice:
        wanted = Choice(_short_name(reference, kind), reference, kind, reference)
        model = self._targets if kind is None else self._drafters
        row = model.find(wanted)
        return model.choices[row] if row >= 0 else wanted

    def _select_place(self, device: str, dtype: str) -> None:
        if self.device.findText(_place_name(device, dtype)) < 0:
            self.device.addItem(_place_name(device, dtype), (device, dtype))
        self.device.setCurrentText(_place_name(device, dtype))


def _row(text: str, control: QWidget) -> QHBoxLayout:
    row = row_in()
    row.addWidget(NameLabel(text, control))
    row.addWidget(control, 1)
    return row


def _place_name(device: str, dtype: str) -> str:
    if device == dtype == AUTO:
        return "automatic"
    name = device.upper() if device == "cpu" else device
    note = " (untested)" if {device, dtype} & {*UNTESTED} else ""
    return f"{name} · {dtype}{note}"


def _indented(widget: QWidget) -> QHBoxLayout:
    row = row_in()
    row.addWidget(NameLabel(""))
    row.addWidget(widget, 1)
    return row


def _short_name(reference: str, kind: DrafterKind | None) -> str:
    names = {DrafterKind.LOOKUP: "Prompt lookup", DrafterKind.NONE: "None (plain)"}
    return names.get(kind) or PurePath(reference).name or reference  # type: ignore[arg-type]


def _gb(num_bytes: int | None) -> str:
    return f"{(num_bytes or 0) / 1e9:.1f}"
