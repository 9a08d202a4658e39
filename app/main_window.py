"""The window: places the bar, the pages and the menus, and connects them."""

from __future__ import annotations

import dataclasses

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtGui import QAction, QCloseEvent, QKeyEvent, QPaintEvent
from PySide6.QtWidgets import (
    QMainWindow,
    QStackedWidget,
    QWidget,
)

from app.decode_page import DecodePage
from app.draft_desk import DraftDesk
from app.errands import Errands
from app.generation_worker import Failure
from app.help_desk import HelpDesk
from app.lab_desk import LabDesk
from app.lab_page import LabPage
from app.menus import Actions
from app.pair_desk import PairDesk
from app.panel_style import panel_stylesheet
from app.panels.decoding_panel import Phase
from app.panels.parts import column_in
from app.panels.top_bar import TopBar
from app.present_desk import PresentDesk
from app.present_page import PresentPage
from app.prompt_desk import PromptDesk
from app.run_controller import Finding, RunController, State
from app.run_desk import RunDesk
from app.run_status import RunStatus
from app.settings import AppSettings
from app.theme import Theme, notifier
from app.trace_actions import TraceActions
from app.trace_desk import origin_of
from app.window_state import collect, restore
from core.events import (
    Event,
    LoadProgress,
    Noted,
    PairLoaded,
    PrefillProgress,
    RaceStarted,
    RoundFinished,
    RunStarted,
)
from core.trace import Trace, TraceHeader

PATIENCE_MS = 2000
BADGES = {
    "": ("accepted", ""),
    "MEASURED": (
        "accepted",
        "Every number was measured on this computer in this run.",
    ),
    "RECORDED": (
        "bonus",
        "Replayed from a file; the numbers were measured when it was recorded.",
    ),
}
IDLE_ONLY = (
    *("run", "race", "load", "open_trace", "open_demo", "save_trace"),
    *("choose_target", "choose_draft"),
)
STILL_BUSY = (
    "The model is still being loaded; the window closes as soon as this step ends. "
    "Close it once more to leave at once."
)


class MainWindow(QMainWindow):
    """Place and connect.

    Signals:
        theme_wished: the name of a theme.
        zoom_wished: how many steps larger the type should be; 0 is normal.
        closing: the settings to keep; the first time the window is closed.
        closed: nothing runs any more.
        leave_wished: closed again, or decoding goes on long after it was closed.
        painted: the window is on the screen for the first time.
    """

    theme_wished = Signal(str)
    zoom_wished = Signal(int)
    closing = Signal(object)
    closed = Signal()
    leave_wished = Signal()
    painted = Signal()

    def __init__(
        self, controller: RunController, errands: Errands, settings: AppSettings
    ) -> None:
        super().__init__()
        self.setWindowTitle("Draftrace")
        # Before there are children: dressing three hundred of them again is slow.
        self._on_theme_changed(Theme.current())
        notifier().changed.connect(self._on_theme_changed)
        self._coming = False
        self._controller, self._errands, self._settings = controller, errands, settings
        self._closing = self._finished_closing = self._is_painted = False
        self._replaying = False
        self._lender: QWidget | None = None
        self._status, self._new_round = RunStatus(), False
        self.bar, self.page, self.lab = TopBar(), DecodePage(), LabPage()
        self.actions_ = Actions(self)
        self.pages = QStackedWidget()
        self.traces = TraceActions(self, errands, settings.folder)
        config = self.page.decoding.config
        self.pair_desk = PairDesk(self.page.pair, config, errands, self)
        self.run_desk = RunDesk(self.page, controller, self.pair_desk, self)
        desks = self.pair_desk, self.run_desk, self.traces.desk
        self.lab_desk = LabDesk(self.lab, self.page, controller, *desks, errands)
        self.draft_desk = DraftDesk(self.page.pair, controller, self)
        self.present = PresentPage()
        self.help_desk = HelpDesk(self, errands)
        self.prompt_desk = PromptDesk(self.page.prompt, controller, errands, self)
        self._patience = QTimer(self, interval=PATIENCE_MS, singleShot=True)
        self._place()
        self.present_desk = PresentDesk(self, self.present, controller, errands)
        self._wire()
        self._wire_actions()
        restore(self, settings)
        self._offer(State.IDLE)

    def settings(self) -> AppSettings:
        """Return everything that should come back at the next start."""
        return collect(self, self._settings)

    def show_view_settings(self, theme: str, zoom: int) -> None:
        """Keep what the application applied, for the menu and the next start."""
        self._settings = dataclasses.replace(self._settings, theme=theme, zoom=zoom)
        self.actions_.tick_theme(theme)

    def is_busy(self) -> bool:
        """Return whether something runs."""
        return self._controller.state.is_busy

    @Slot()
    def _on_beginning(self) -> None:
        # The last run stays until the new one starts: a load may fail before that.
        self._coming = True
        self.page.banners.clear()

    def _begin(self, recording: TraceHeader | None = None) -> None:
        self._replaying, self._coming = recording is not None, False
        self.traces.desk.begin(recording)
        self._show_badge("")
        self.page.banners.clear()
        self.page.clear()
        self._status = RunStatus()

    # What the controller says -----------------------------------------------------

    @Slot(object)
    def _on_state_changed(self, state: State) -> None:
        busy, focus = state.is_busy, self.focusWidget()
        self.bar.show_state(state)
        self.page.decoding.set_phase(_phase(busy, self._controller.racing))
        self.page.prompt.set_locked(busy)
        self.page.pair.set_locked(busy)
        holds = state in (State.IDLE, State.PAUSED) or self._controller.in_lab
        self.page.replay.set_offered(holds)
        self._offer(state)
        self._keep_focus(focus)
        if state is not State.LOADING:
            self.page.strip.hide()
        if state is State.STOPPING:
            self.bar.show_status("Stopping…")

    def _keep_focus(self, before: QWidget | None) -> None:
        """Lend the focus of a control that went grey to the window, and give it back.

        Qt would pass it to K, where the next arrow key changes what runs.
        """
        if before is not None and not before.isEnabled():
            self._lender = before
            self.setFocus()
        elif self._lender is not None and self._lender.isEnabled():
            if self.focusWidget() in (None, self):
                self._lender.setFocus()
            self._lender = None

    def _offer(self, state: State) -> None:
        idle = not state.is_busy
        for name in IDLE_ONLY:
            self.actions_[name].setEnabled(idle)
        going = state in (State.RUNNING, State.PAUSED)
        self.actions_["pause"].setEnabled(going)
        self.actions_["step"].setEnabled(idle or going)
        self.actions_["stop"].setEnabled(not idle)

    @Slot(object)
    def _on_event(self, event: Event) -> None:
        if self._coming and isinstance(event, RunStarted | RaceStarted):
            self._coming = False
            self._begin()
        self._status.on_event(event)
        self.traces.desk.add(event)
        match event:
            case LoadProgress():
                self.page.strip.show_progress(event)
                self.lab.on_finding(event)
            case PairLoaded():
                self.page.strip.hide()
                if not self._replaying:  # the recording's pair is not the one chosen
                    self.page.pair.show_loaded(event)
            case PrefillProgress():
                self.page.strip.show_prefill(event)
            case RoundFinished():
                self._new_round = True
            case Noted():
                self.page.banners.show_note(event.sentence)
            case _:
                pass
        if not isinstance(event, LoadProgress | PairLoaded):
            self.page.on_event(event)

    @Slot(object)
    def _on_finding(self, finding: Finding) -> None:
        said = self.lab.on_finding(finding) or self.draft_desk.on_finding(finding)
        self._status.say(said)

    @Slot()
    def _on_drained(self) -> None:
        paused = self._controller.state is State.PAUSED
        self.page.replay.show()
        if paused and self._new_round:
            self.page.show_latest_round()
        self._new_round = False
        self.bar.show_status(self._status.text + (" · paused" if paused else ""))
        if self._status.measured and not self.bar.badge.text():
            self._show_badge("MEASURED")

    @Slot(str, str)
    def _on_failed(self, sentence: str, detail: str) -> None:
        page = self.lab if self._controller.in_lab else self.page
        page.banners.show_error(sentence, detail)
        self.bar.show_status("Ready")
        self._keep_trace()

    @Slot(object)
    def _on_crashed(self, failure: Failure) -> None:
        self.bar.show_status("Ready")
        self._keep_trace()

    def _keep_trace(self) -> None:
        if self._controller.is_decoding:  # not a load, which has no trace
            self.traces.keep_failed()

    @Slot()
    def _on_finished(self) -> None:
        self.page.strip.hide()
        if self._controller.in_lab:
            return  # the last run stays as it is, and the status tells the outcome
        self.page.show_latest_round(unless_chosen=True)
        if not self._status.measured and not self._status.loaded:
            self.bar.show_status("Ready")

    # Traces -----------------------------------------------------------------------

    @Slot(object)
    def _on_trace_opened(self, trace: Trace) -> None:
        if self._controller.state.is_busy:
            return
        self._begin(trace.header)
        self._show_badge("RECORDED")
        self.page.banners.show_note(origin_of(trace))
        for note in trace.notes:
            self.page.banners.show_note(note)
        self._controller.play(trace.events)

    def _show_badge(self, word: str) -> None:
        role, explanation = BADGES[word]
        self.bar.badge.show_word(word, role, explanation)
        self.page.verdict.set_badge(word)

    # Closing ----------------------------------------------------------------------

    def closeEvent(self, event: QCloseEvent) -> None:
        """Stop what runs, stay until it has ended, leave at once if asked again."""
        if self._finished_closing:
            event.accept()
            return
        event.ignore()
        if self._closing:
            self.leave_wished.emit()
            return
        self._closing = True
        self.closing.emit(self.settings())
        for part in (self.bar, self.pages, self.menuBar()):
            part.setEnabled(False)
        self._patience.start()
        self._controller.close()

    @Slot()
    def _on_controller_closed(self) -> None:
        self._patience.stop()
        self._finished_closing = True
        self.close()
        self.closed.emit()

    @Slot()
    def _on_patience_over(self) -> None:
        if self._controller.state in (State.RUNNING, State.PAUSED):
            # Unlike a load, decoding writes nothing that could be left half written.
            self.leave_wished.emit()
            return
        self.page.banners.show_note(STILL_BUSY)
        self.bar.show_status("Waiting for the model to finish its step…")

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self._is_painted:
            self._is_painted = True
            QTimer.singleShot(0, self._on_painted)

    @Slot()
    def _on_painted(self) -> None:
        self.painted.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Take Space for pause where no control wanted it."""
        plain = event.modifiers() == Qt.KeyboardModifier.NoModifier
        if event.key() == Qt.Key.Key_Space and plain and not event.isAutoRepeat():
            self.run_desk.pause_or_resume()
        else:
            super().keyPressEvent(event)

    # Building ---------------------------------------------------------------------

    def _place(self) -> None:
        whole = QWidget()
        column = column_in(whole, spacing=0)
        column.addWidget(self.bar)
        column.addWidget(self.pages, 1)
        self.setCentralWidget(whole)
        self.add_page("Decode", self.page)
        self.add_page("Lab", self.lab)
        self.add_page("Present", self.present)

    def add_page(self, title: str, page: QWidget) -> None:
        """Offer one more page."""
        self.pages.addWidget(page)
        self.bar.add_page(title)

    def show_page(self, page: QWidget) -> None:
        """Go to a page."""
        self.pages.setCurrentWidget(page)
        self.bar.show_page(self.pages.currentIndex())

    def _wire(self) -> None:
        controller, bar, page = self._controller, self.bar, self.page
        controller.state_changed.connect(self._on_state_changed)
        controller.event_arrived.connect(self._on_event)
        controller.finding_arrived.connect(self._on_finding)
        controller.drained.connect(self._on_drained)
        controller.failed.connect(self._on_failed)
        controller.crashed.connect(self._on_crashed)
        controller.finished.connect(self._on_finished)
        controller.closed.connect(self._on_controller_closed)
        self._patience.timeout.connect(self._on_patience_over)
        bar.race_asked.connect(self.run_desk.race)
        bar.run_asked.connect(self.run_desk.run)
        bar.pause_asked.connect(self.run_desk.pause_or_resume)
        bar.step_asked.connect(self.run_desk.step)
        bar.stop_asked.connect(controller.stop)
        bar.page_chosen.connect(self.pages.setCurrentIndex)
        page.set_recall(self.traces.desk.round_of)
        for lane in page.lanes.values():
            lane.tour_asked.connect(self.help_desk.ask_tour)
        page.fetch.recording_asked.connect(self.traces.open_demo)
        self.run_desk.beginning.connect(self._on_beginning)
        self.traces.opened.connect(self._on_trace_opened)
        self.traces.noted.connect(page.banners.show_note)
        self.traces.failed.connect(page.banners.show_error)
        self.traces.export_asked.connect(page.export_plots)
        self.help_desk.failed.connect(page.banners.show_error)
        self.prompt_desk.failed.connect(page.banners.show_error)
        self.closing.connect(self.pair_desk.picker.close)

    def _wire_actions(self) -> None:
        actions = self.actions_
        for name, slot in {
            "open_trace": self.traces.ask_open,
            "open_demo": self.traces.open_demo,
            "save_trace": self.traces.ask_save,
            "export": self.traces.ask_export,
            "report": self.traces.ask_report,
            "profile": self.traces.ask_profile,
            "quit": self.close,
            "present": self.present_desk.show,
            "full_screen": self.present_desk.toggle_full_screen,
            "leave": self.present_desk.leave,
            "larger": self._on_larger,
            "smaller": self._on_smaller,
            "normal": self._on_normal,
            "run": self.run_desk.run,
            "race": self.run_desk.race,
            "pause": self.run_desk.pause_or_resume,
            "step": self.run_desk.step,
            "stop": self._controller.stop,
            "load": self.run_desk.load_pair,
            "make_draft": self.draft_desk.open,
            "choose_target": self.pair_desk.picker.open_for_target,
            "choose_draft": self.pair_desk.picker.open_for_draft,
            "earlier_round": self._on_earlier_round,
            "later_round": self._on_later_round,
            "edit_prompt": self.page.prompt.editor.setFocus,
            "help": self.help_desk.show_pages,
            "tour": self.help_desk.ask_tour,
            "doctor": self.help_desk.ask_doctor,
            "about": self.help_desk.show_about,
        }.items():
            actions[name].triggered.connect(slot)
        for name in ("full_screen", "leave"):
            self.addAction(actions[name])  # they work, too, where the menus are hidden
        self.page.pair.make_draft_offered.connect(actions["make_draft"].setEnabled)
        actions["show_rejected"].toggled.connect(self._on_show_rejected)
        actions["show_left"].toggled.connect(self.page.left.setVisible)
        actions["show_right"].toggled.connect(self.page.right.setVisible)
        actions.themes.triggered.connect(self._on_theme_chosen)

    @Slot(object)
    def _on_theme_changed(self, theme: Theme) -> None:
        self.setStyleSheet(panel_stylesheet(theme))

    # View and help ----------------------------------------------------------------

    @Slot()
    def _on_earlier_round(self) -> None:
        self.page.scrub(-1)

    @Slot()
    def _on_later_round(self) -> None:
        self.page.scrub(+1)

    @Slot(bool)
    def _on_show_rejected(self, shown: bool) -> None:
        for lane in self.page.lanes.values():
            lane.set_show_rejected(shown)

    @Slot(QAction)
    def _on_theme_chosen(self, action: QAction) -> None:
        self.theme_wished.emit(action.data())

    @Slot()
    def _on_larger(self) -> None:
        self.zoom_wished.emit(self._settings.zoom + 1)

    @Slot()
    def _on_smaller(self) -> None:
        self.zoom_wished.emit(self._settings.zoom - 1)

    @Slot()
    def _on_normal(self) -> None:
        self.zoom_wished.emit(0)


def _phase(busy: bool, racing: bool) -> Phase:
    if not busy:
        return Phase.IDLE
    return Phase.RACING if racing else Phase.RUNNING
