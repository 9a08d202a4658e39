"""Opens the picker of checkpoints, and takes what was chosen to the pair panel."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject, Qt, Signal, Slot

from app.dialogs.checkpoint_picker import CheckpointPicker
from app.errands import Errands
from app.generation_worker import Failure
from app.panels.pair_panel import PairPanel
from app.picks import Pick, draft_picks, target_picks
from core.config import PairConfig

KEY = "picks"


class PickerDesk(QObject):
    """One picker at a time; its list is read off the window's thread.

    Signals:
        places_changed: the person added or removed a place.
    """

    places_changed = Signal()

    def __init__(self, panel: PairPanel, errands: Errands, parent: QObject) -> None:
        super().__init__(parent)
        self._panel, self._errands = panel, errands
        self.places: tuple[str, ...] = ()
        self.recent: tuple[PairConfig, ...] = ()
        self.dialog: CheckpointPicker | None = None
        self._for_target = True
        errands.answered.connect(self._on_answered)
        errands.failed.connect(self._on_failed)

    def open(self, for_target: bool) -> None:
        """Let the person choose a target, or a draft for the target that is chosen."""
        if self.dialog is not None or not self._panel.target.isEnabled():
            return
        self._for_target = for_target
        title = "Choose a target"
        if not for_target:
            title = f"Choose a draft for {self._panel.target.currentText()}"
        dialog = CheckpointPicker(title, self.places, self._panel.window())
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.chosen.connect(self._on_chosen)
        dialog.look_asked.connect(self._look)
        dialog.places_changed.connect(self._on_places_changed)
        dialog.finished.connect(self._on_finished)
        self.dialog = dialog
        dialog.open()
        dialog.again.click()

    @Slot()
    def open_for_target(self) -> None:
        """Open it for a target."""
        self.open(True)

    @Slot()
    def open_for_draft(self) -> None:
        """Open it for a draft."""
        self.open(False)

    @Slot()
    def close(self) -> None:
        """Leave without a choice; what is fetched just now stays as far as it is."""
        if self.dialog is not None:
            self.dialog.reject()

    @Slot()
    def _look(self) -> None:
        if self._for_target:
            question = partial(target_picks, self.places, self.recent)
        else:
            target = self._panel.pair().target.reference
            question = partial(draft_picks, target, self.places)
        self._errands.ask(KEY, question)

    @Slot(object)
    def _on_places_changed(self, places: tuple[str, ...]) -> None:
        self.places = places
        self.places_changed.emit()

    @Slot(object)
    def _on_chosen(self, pick: Pick) -> None:
        if pick.pair is not None:
            self._panel.choose_pair(pick.pair)
        else:
            self._panel.choose_path(self._for_target, pick.reference)

    @Slot(int)
    def _on_finished(self, result: int) -> None:
        self.dialog = None

    @Slot(str, object)
    def _on_answered(self, key: str, value: object) -> None:
        if key == KEY and self.dialog is not None and isinstance(value, tuple):
            self.dialog.show_picks(value)

    @Slot(str, object)
    def _on_failed(self, key: str, failure: Failure) -> None:
        if key == KEY and self.dialog is not None:
            self.dialog.show_failure(failure.sentence)
