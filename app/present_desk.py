"""Between the Present page and the rest: what it can show, live or recorded."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtGui import QKeySequence

import resources
from app.errands import Errands
from app.generation_worker import Failure
from app.present_page import PresentPage
from app.run_controller import RunController
from app.take import Take, take_of
from app.trace_actions import DEMO as DEMO_FILE
from app.views.stage_words import CANNOT, DEMO, LAST, LIVE
from core.config import DrafterKind
from core.events import Event
from core.trace import Trace, read_trace

if TYPE_CHECKING:
    from app.main_window import MainWindow

RECORDED = ("RECORDED", "bonus", "Played at true speed from the lanes' own clocks.")
MEASURED = ("MEASURED", "accepted", "Measured on this computer as you see it.")
KEY = "take"


class PresentDesk(QObject):
    """Offers what can be shown, starts it, and leads to the page and back."""

    def __init__(
        self,
        window: MainWindow,
        page: PresentPage,
        controller: RunController,
        errands: Errands,
    ) -> None:
        super().__init__(window)
        self._window, self._page = window, page
        self._controller, self._errands = controller, errands
        self._live = False
        page.start_asked.connect(self._on_start_asked)
        page.source_chosen.connect(self._on_source_chosen)
        page.go.connect(self._on_go)
        page.leave_asked.connect(self.leave)
        page.full_screen_asked.connect(self.toggle_full_screen)
        window.pages.currentChanged.connect(self._on_page_changed)
        controller.event_arrived.connect(self._on_event)
        controller.failed.connect(self._on_failed)
        controller.finished.connect(self._on_finished)
        errands.answered.connect(self._on_answered)
        errands.failed.connect(self._on_errand_failed)

    @property
    def is_shown(self) -> bool:
        """Whether the page shows."""
        return self._window.pages.currentWidget() is self._page

    @Slot()
    def show(self) -> None:
        """Go to the page."""
        self._window.show_page(self._page)

    @Slot()
    def leave(self) -> None:
        """Go back to the Decode page, and end what was begun here."""
        self._end()
        if self._window.isFullScreen():
            self.toggle_full_screen()
        self._window.show_page(self._window.page)

    @Slot()
    def toggle_full_screen(self) -> None:
        """Use the whole screen, or the window again."""
        window = self._window
        window.setWindowState(window.windowState() ^ Qt.WindowState.WindowFullScreen)
        self._show_bars()

    @Slot(object)
    def _on_event(self, event: Event) -> None:
        if self._live:
            self._page.show_live(event)

    @Slot(str, str)
    def _on_failed(self, sentence: str, detail: str) -> None:
        if self._live:
            self._page.show_failure(sentence)

    @Slot()
    def _on_finished(self) -> None:
        self._set_live(False)
        if self.is_shown:
            self._offer(self._page.chosen_source())

    # The page ---------------------------------------------------------------------

    @Slot()
    def _on_page_changed(self) -> None:
        shown = self.is_shown
        # One key cannot do two things: on the stage Esc leaves, elsewhere it stops.
        self._window.actions_["leave"].setEnabled(shown)
        self._window.actions_["stop"].setShortcut(QKeySequence("" if shown else "Esc"))
        self._show_bars()
        if shown and not self._page.is_playing and not self._live:
            self._offer(self._best())
            self._page.setFocus()

    def _show_bars(self) -> None:
        bare = self.is_shown and self._window.isFullScreen()
        self._window.menuBar().setVisible(not bare)
        self._window.bar.setVisible(not bare)

    def _best(self) -> str:
        """Return what to show where nobody has chosen."""
        loaded = self._controller.loaded_pair is not None
        return LIVE if loaded and self._usable()[LIVE] else DEMO

    def _usable(self) -> dict[str, bool]:
        pair = self._window.page.pair.pair()
        drafted = pair.drafter is not DrafterKind.NONE
        there = drafted and not self._window.pair_desk.needs_demo()
        return {
            LIVE: there and not self._window.is_busy(),
            LAST: self._window.traces.desk.has_race and not self._window.is_busy(),
            DEMO: True,
        }

    def _offer(self, chosen: str) -> None:
        usable = self._usable()
        chosen = chosen if usable.get(chosen) else DEMO
        self._page.offer_sources(usable, chosen)
        self._on_source_chosen(chosen)

    @Slot(str)
    def _on_source_chosen(self, source: str) -> None:
        if source == LIVE:
            self._page.show_badge(*MEASURED)
        else:
            self._page.show_badge(*RECORDED)

    @Slot()
    def _on_start_asked(self) -> None:
        if self._page.is_playing or self._live:
            self._end()
            return
        self._page.clear()
        self._page.count_down()

    def _set_live(self, live: bool) -> None:
        self._live = live
        self._page.set_live(live)

    def _end(self) -> None:
        if self._live:
            self._controller.stop()
        self._page.stop()

    @Slot()
    def _on_go(self) -> None:
        source = self._page.chosen_source()
        if source == LIVE:
            self._set_live(True)
            self._window.run_desk.race()
            if not self._window.is_busy():
                self._set_live(False)
                self._page.show_failure(CANNOT)
        elif source == LAST:
            self._play(take_of(self._window.traces.desk.events))
        else:
            demo = partial(read_trace, resources.path(DEMO_FILE))
            self._errands.ask(KEY, demo, light=True)

    def _play(self, take: Take | None) -> None:
        if take is None:
            self._page.show_failure("That race has no repeat that counts; race again.")
        else:
            self._page.play(take)

    @Slot(str, object)
    def _on_answered(self, key: str, value: object) -> None:
        if key == KEY and isinstance(value, Trace) and self.is_shown:
            self._play(take_of(value.events))

    @Slot(str, object)
    def _on_errand_failed(self, key: str, failure: Failure) -> None:
        if key == KEY:
            self._page.show_failure(failure.sentence)
