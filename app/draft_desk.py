"""Between the dialog that makes a draft, the controller, and the pair panel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot

from app.jobs import Finding, State
from app.panels.pair_panel import PairPanel
from app.run_controller import RunController
from core.checkpoints.places import drafts_folder
from core.distillation.folder import is_begun
from core.distillation.plan import DistillFinished, DistillPlan, DistillProgress
from core.distillation.words import line
from core.events import Event, LoadProgress

if TYPE_CHECKING:
    from app.dialogs.make_draft import MakeDraftDialog

LONGEST_NAME = 60


class DraftDesk(QObject):
    """One dialog, kept while it works; closing it ends nothing.

    Signals:
        none.
    """

    def __init__(
        self, panel: PairPanel, controller: RunController, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._panel, self._controller = panel, controller
        self.dialog: MakeDraftDialog | None = None
        self._mine = False
        self._finished: DistillFinished | None = None
        panel.make_draft_asked.connect(self.open)
        controller.event_arrived.connect(self._on_event)
        controller.state_changed.connect(self._on_state_changed)
        controller.failed.connect(self._on_failed)
        controller.finished.connect(self._on_finished)

    @Slot()
    def open(self) -> None:
        """Show the dialog; for another target than before it asks anew."""
        dialog = self.dialog or self._new_dialog()
        if not self._mine and not dialog.isVisible():
            pair, name = self._panel.pair(), self._panel.target.currentText()
            dialog.set_target(pair.target, name, str(free_folder(name)))
        if dialog.isVisible():
            dialog.raise_()
        dialog.show()
        dialog.activateWindow()

    def on_finding(self, finding: Finding) -> str:
        """Take in what a distillation tells; return words for the status line."""
        if self.dialog is None:
            return ""
        match finding:
            case DistillProgress():
                self.dialog.progress.show_progress(finding)
                return line(finding)
            case DistillFinished():
                self._finished = finding
                return self.dialog.progress.show_finished(finding)
            case _:
                return ""

    def _new_dialog(self) -> MakeDraftDialog:
        # Imported here: its curve needs PyQtGraph, which the first paint must not.
        from app.dialogs.make_draft import MakeDraftDialog

        dialog = MakeDraftDialog(self._panel.window())
        dialog.start_asked.connect(self._on_start_asked)
        dialog.stop_asked.connect(self._controller.stop)
        dialog.folder_edited.connect(self._on_folder_edited)
        self.dialog = dialog
        self._on_state_changed(self._controller.state)
        return dialog

    @Slot(object)
    def _on_start_asked(self, plan: DistillPlan) -> None:
        if self.dialog is not None and not self._controller.state.is_busy:
            self._mine, self._finished = True, None
            self._controller.make_draft(plan)

    @Slot(str)
    def _on_folder_edited(self, text: str) -> None:
        if self.dialog is not None:
            self.dialog.offer_resume(bool(text.strip()) and is_begun(Path(text)))

    @Slot(object)
    def _on_event(self, event: Event) -> None:
        if self._mine and self.dialog and isinstance(event, LoadProgress):
            self.dialog.progress.show_loading(event)

    @Slot(object)
    def _on_state_changed(self, state: State) -> None:
        if self.dialog is not None:
            going = self._mine and state.is_busy
            self.dialog.show_running(going, free=not state.is_busy)
            if state is State.STOPPING:
                self.dialog.stop.setEnabled(False)

    @Slot(str, str)
    def _on_failed(self, sentence: str, detail: str) -> None:
        if self._mine and self.dialog is not None:
            self.dialog.progress.show_failure(sentence)

    @Slot()
    def _on_finished(self) -> None:
        """Take the draft for the target that is still chosen."""
        if not self._mine:
            return
        self._mine = False
        if self._finished is not None and self._finished.folder:
            self._panel.choose_path(False, self._finished.folder)
        if self.dialog is not None:
            self._on_folder_edited(self.dialog.folder.text())


def free_folder(name: str) -> Path:
    """Return a folder for a draft of the target ``name`` that is not there yet."""
    short = name.split(" (")[0][:LONGEST_NAME].strip().replace("/", "-") or "target"
    first = drafts_folder() / f"{short}-draft"
    others = (first.with_name(f"{first.name}-{i}") for i in range(2, 1000))
    return next(path for path in (first, *others) if not path.exists())
