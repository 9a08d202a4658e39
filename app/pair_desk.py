"""Between the pair panel and the core's findings: lists, fit, memory, the demo."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QFileDialog

from app.errands import Errands
from app.generation_worker import Failure
from app.item_models.checkpoint_list import Ask
from app.pair_outlook import (
    Findings,
    PairOutlook,
    find_checkpoints,
    find_devices,
    is_demo,
    look_at,
)
from app.panels.pair_panel import PairPanel
from app.picker_desk import PickerDesk
from core.config import DecodingConfig, PairConfig

FILTERS = "Checkpoints (*.gguf *.safetensors);;All files (*)"
MOST_RECENT = 6


class PairDesk(QObject):
    """Ask the core about pairs, off the window's thread, and show what it says.

    Signals:
        changed: the PairConfig that is chosen now.
        demo_missing: whether the chosen target is the demo and not on this computer.
        looked: it is known what is on this computer.
    """

    changed = Signal(object)
    demo_missing = Signal(bool)
    looked = Signal()

    def __init__(
        self,
        panel: PairPanel,
        config: Callable[[], DecodingConfig],
        errands: Errands,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._panel, self._config, self._errands = panel, config, errands
        self._findings = Findings()
        self._recent: tuple[PairConfig, ...] = ()
        self.picker = PickerDesk(panel, errands, self)
        self.picker.places_changed.connect(self.refresh)
        panel.changed.connect(self._on_pair_changed)
        panel.path_asked.connect(self._on_path_asked)
        panel.loaded.connect(self._on_loaded)
        errands.answered.connect(self._on_answered)
        errands.failed.connect(self._on_failed)

    @property
    def findings(self) -> Findings:
        """What is known about this computer."""
        return self._findings

    @property
    def places(self) -> tuple[str, ...]:
        """The person's folders of checkpoints and single files."""
        return self.picker.places

    @property
    def recent(self) -> tuple[PairConfig, ...]:
        """The pairs that were loaded last, the newest first."""
        return self._recent

    def restore(self, places: tuple[str, ...], recent: tuple[PairConfig, ...]) -> None:
        """Take back what was kept at the last start."""
        self.picker.places, self._recent = places, recent[:MOST_RECENT]
        self.picker.recent = self._recent

    @Slot()
    def refresh(self) -> None:
        """Look again at what is on this computer."""
        pair = self._panel.pair()
        self._errands.ask("checkpoints", partial(find_checkpoints, pair, self.places))

    def find_devices(self) -> None:
        """Find the devices; it imports torch, so it is asked for late."""
        self._errands.ask("devices", find_devices)

    def needs_demo(self) -> bool:
        """Return whether the chosen target must be fetched first."""
        return is_demo(self._panel.pair().target) and self._findings.demo_here is False

    def _look(self, pair: PairConfig) -> None:
        self._panel.show_outlook(None)
        self._errands.ask("outlook", partial(look_at, pair, self._config()))

    @Slot(object)
    def _on_pair_changed(self, pair: PairConfig) -> None:
        self.changed.emit(pair)
        self.refresh()

    @Slot(object)
    def _on_loaded(self, pair: PairConfig) -> None:
        others = (p for p in self._recent if p != pair)
        self._recent = (pair, *others)[:MOST_RECENT]
        self.picker.recent = self._recent

    @Slot(str, object)
    def _on_answered(self, key: str, value: object) -> None:
        if key == "checkpoints" and isinstance(value, Findings):
            self._findings = value
            self._panel.set_choices(value.targets, value.drafters)
            self.demo_missing.emit(self.needs_demo())
            self._look(self._panel.pair())
            self.looked.emit()
        if key == "devices" and isinstance(value, tuple):
            self._panel.set_devices(value)
            self._look(self._panel.pair())
        if key == "outlook" and isinstance(value, PairOutlook):
            self._panel.show_outlook(value)

    @Slot(str, object)
    def _on_failed(self, key: str, failure: Failure) -> None:
        if key in ("outlook", "checkpoints"):
            self._panel.show_outlook(PairOutlook(None, failure.sentence))

    @Slot(bool, object)
    def _on_path_asked(self, for_target: bool, ask: Ask) -> None:
        if ask is Ask.BROWSE:
            self.picker.open(for_target)
            return
        window = self._panel.window()
        what = "target" if for_target else "draft"
        if ask is Ask.FOLDER:
            title = f"Choose the {what}'s folder"
            path = QFileDialog.getExistingDirectory(window, title)
        else:
            title = f"Choose the {what}'s file"
            path, _ = QFileDialog.getOpenFileName(window, title, "", FILTERS)
        if path:
            self._panel.choose_path(for_target, path)
