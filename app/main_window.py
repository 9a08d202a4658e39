"""The window: places the bar, the pages and the menus, and connects them."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtGui import QCloseEvent, QKeyEvent, QPaintEvent
from PySide6.QtWidgets import QMainWindow, QStackedWidget, QWidget

from app.decode_page import DecodePage
from app.draft_desk import DraftDesk
from app.errands import Errands
from app.focus_loan import FocusLoan
from app.help_desk import HelpDesk
from app.jobs import State
from app.lab_desk import LabDesk
from app.lab_page import LabPage
from app.leaving import Leaving
from app.menus import Actions
from app.news_desk import NewsDesk
from app.pair_desk import PairDesk
from app.panel_style import panel_stylesheet
from app.panels.parts import column_in
from app.panels.top_bar import TopBar
from app.present_desk import PresentDesk
from app.present_page import PresentPage
from app.prompt_desk import PromptDesk
from app.run_controller import RunController
from app.run_desk import RunDesk
from app.settings import AppSettings
from app.theme import Theme, notifier
from app.trace_actions import TraceActions
from app.view_desk import ViewDesk
from app.window_state import collect, restore

STILL_BUSY = (
    "The model is still being loaded; the window closes as soon as this step ends. "
    "Close it once more to leave at once."
)


class MainWindow(QMainWindow):
    """Place and connect.

    Signals:
        closing: the settings to keep; the first time the window is closed.
        closed: nothing runs any more.
        painted: the window is on the screen for the first time.
    """

    closing = Signal(object)
    closed = Signal()
    painted = Signal()

    def __init__(
        self, controller: RunController, errands: Errands, settings: AppSettings
    ) -> None:
        super().__init__()
        self.setWindowTitle("Draftrace")
        # Before there are children: dressing three hundred of them again is slow.
        self._on_theme_changed(Theme.current())
        notifier().changed.connect(self._on_theme_changed)
        self._controller, self._settings = controller, settings
        self._is_painted = False
        self._focus = FocusLoan(self)
        self.bar, self.page, self.lab = TopBar(), DecodePage(), LabPage()
        self.present, self.pages = PresentPage(), QStackedWidget()
        self.actions_ = Actions(self)
        self._place()
        self._open_desks(errands, settings)
        self._wire()
        self._wire_bar()
        self._wire_actions()
        restore(self, settings)
        self.actions_.offer(State.IDLE)

    def _open_desks(self, errands: Errands, settings: AppSettings) -> None:
        """Let each desk connect its part; the news come last, after all others."""
        page, controller = self.page, self._controller
        self.leaving = Leaving(controller, self)
        self.traces = TraceActions(self, errands, settings.folder)
        self.pair_desk = PairDesk(page.pair, page.decoding.config, errands, self)
        self.run_desk = RunDesk(page, controller, self.pair_desk, self)
        desks = self.pair_desk, self.run_desk, self.traces.desk
        self.lab_desk = LabDesk(self.lab, page, controller, *desks, errands)
        self.draft_desk = DraftDesk(page.pair, controller, self)
        self.help_desk = HelpDesk(self, errands)
        self.prompt_desk = PromptDesk(page.prompt, controller, errands, self)
        look = settings.theme, settings.zoom
        self.view_desk = ViewDesk(page, self.actions_, *look, self)
        self.present_desk = PresentDesk(self, self.present, controller, errands)
        shown = self.bar, page, self.lab
        self.news_desk = NewsDesk(
            *shown, controller, self.draft_desk, self.traces, self
        )

    def settings(self) -> AppSettings:
        """Return everything that should come back at the next start."""
        return collect(self, self._settings)

    def is_busy(self) -> bool:
        """Return whether something runs."""
        return self._controller.state.is_busy

    @Slot(object)
    def _on_state_changed(self, state: State) -> None:
        with self._focus.watched():
            self.news_desk.show_state(state)
            self.actions_.offer(state)

    # The window itself ------------------------------------------------------------

    def closeEvent(self, event: QCloseEvent) -> None:
        """Stay until what runs has ended; see :class:`Leaving`."""
        event.setAccepted(self.leaving.is_done)
        if not self.leaving.is_done:
            self.leaving.ask()

    @Slot()
    def _on_leaving_begun(self) -> None:
        self.closing.emit(self.settings())
        for part in (self.bar, self.pages, self.menuBar()):
            part.setEnabled(False)

    @Slot()
    def _on_leaving_outlasted(self) -> None:
        self.page.banners.show_note(STILL_BUSY)
        self.bar.show_status("Waiting for the model to finish its step…")

    @Slot()
    def _on_left(self) -> None:
        self.close()
        self.closed.emit()

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

    @Slot(object)
    def _on_theme_changed(self, theme: Theme) -> None:
        self.setStyleSheet(panel_stylesheet(theme))

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
        page = self.page
        self._controller.state_changed.connect(self._on_state_changed)
        self.leaving.begun.connect(self._on_leaving_begun)
        self.leaving.outlasted.connect(self._on_leaving_outlasted)
        self.leaving.done.connect(self._on_left)
        self.closing.connect(self.pair_desk.picker.close)
        page.set_recall(self.traces.desk.round_of)
        for lane in page.lanes.values():
            lane.tour_asked.connect(self.help_desk.ask_tour)
        page.fetch.recording_asked.connect(self.traces.open_demo)
        self.run_desk.beginning.connect(self.news_desk.expect)
        self.traces.noted.connect(page.banners.show_note)
        self.traces.export_asked.connect(page.export_plots)
        for desk in (self.traces, self.help_desk, self.prompt_desk):
            desk.failed.connect(page.banners.show_error)

    def _wire_bar(self) -> None:
        bar = self.bar
        bar.race_asked.connect(self.run_desk.race)
        bar.run_asked.connect(self.run_desk.run)
        bar.pause_asked.connect(self.run_desk.pause_or_resume)
        bar.step_asked.connect(self.run_desk.step)
        bar.stop_asked.connect(self._controller.stop)
        bar.page_chosen.connect(self.pages.setCurrentIndex)

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
            "larger": self.view_desk.larger,
            "smaller": self.view_desk.smaller,
            "normal": self.view_desk.normal,
            "run": self.run_desk.run,
            "race": self.run_desk.race,
            "pause": self.run_desk.pause_or_resume,
            "step": self.run_desk.step,
            "stop": self._controller.stop,
            "load": self.run_desk.load_pair,
            "make_draft": self.draft_desk.open,
            "choose_target": self.pair_desk.picker.open_for_target,
            "choose_draft": self.pair_desk.picker.open_for_draft,
            "earlier_round": self.view_desk.earlier_round,
            "later_round": self.view_desk.later_round,
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
