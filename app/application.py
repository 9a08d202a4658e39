"""The composition root: builds the application, wires it, and lets it run."""

from __future__ import annotations

import argparse
import logging
import os
import sys

from PySide6.QtCore import QObject, QSettings, QTimer, Slot
from PySide6.QtWidgets import QApplication

from app import settings as stored
from app import theme
from app.dialogs.error_report import ErrorReport
from app.errands import Errands
from app.garbage import GarbageKeeper
from app.generation_worker import Failure
from app.hooks import ExceptionHook
from app.icons import program_icon
from app.logs import log_file, start_logging
from app.main_window import MainWindow
from app.run_controller import RunController
from app.scripted_start import ScriptedStart, with_options
from core.session import Session

logger = logging.getLogger(__name__)

ERRAND_MS = 10_000  # the window is gone already; an import of torch may take this long
CALM_MS = 1000  # after the window shows; importing torch makes it stutter
SWITCH_SECONDS = 0.001  # a busy worker hands the interpreter over sooner: smooth window


class Application(QObject):
    """Owns everything that lives as long as the program.

    Signals:
        none.
    """

    def __init__(
        self,
        app: QApplication,
        session: Session,
        settings: QSettings,
        options: argparse.Namespace | None = None,
    ) -> None:
        super().__init__()
        self._app, self._store = app, settings
        self._brief = bool(options and options.quit)
        values = with_options(stored.load(settings), options)
        self._base_size = app.font().pointSizeF()
        self._reports: list[ErrorReport] = []
        self.hook, self._garbage = ExceptionHook(self), GarbageKeeper(self)
        self.controller, self.errands = RunController(session, self), Errands(self)
        self._dress(values.theme, values.zoom)
        self.window = MainWindow(self.controller, self.errands, values)
        self._theme, self._zoom = values.theme, values.zoom
        self._wire()

    def start(self) -> None:
        """Show the window; everything slow waits until it is painted."""
        self.window.painted.connect(self._on_painted)
        self.window.show()

    def _wire(self) -> None:
        window = self.window
        window.view_desk.theme_wished.connect(self._on_theme_wished)
        window.view_desk.zoom_wished.connect(self._on_zoom_wished)
        window.closing.connect(self._on_closing)
        window.closed.connect(self._on_closed)
        window.leaving.leave_wished.connect(self._on_leave_wished)
        self.controller.crashed.connect(self.show_fault)
        self.controller.load_coming.connect(self._garbage.collect_all)
        self.controller.load_done.connect(self._garbage.spare_the_loaded)
        self.hook.caught.connect(self.show_fault)

    def _dress(self, name: str, zoom: int) -> None:
        font = self._app.font()
        font.setPointSizeF(max(6.0, self._base_size + zoom))
        self._app.setFont(font)
        theme.apply(self._app, name)

    @Slot(object)
    def show_fault(self, failure: Failure) -> None:
        """Open the report of a fault of ours; one at a time is enough."""
        if any(report.isVisible() for report in self._reports):
            return
        report = ErrorReport(failure.trace, str(log_file()), self.window)
        self._reports = [report]
        report.show()

    @Slot()
    def _on_painted(self) -> None:
        logger.info("ready")
        self.window.page.add_plots()
        self.window.pair_desk.refresh()
        if not self._brief:
            QTimer.singleShot(CALM_MS, self._on_calm)

    @Slot()
    def _on_calm(self) -> None:
        self.window.pair_desk.find_devices()

    @Slot(str)
    def _on_theme_wished(self, name: str) -> None:
        self._theme = name
        self._show_view()

    @Slot(int)
    def _on_zoom_wished(self, zoom: int) -> None:
        most = stored.LARGEST_ZOOM
        self._zoom = max(-most, min(most, zoom))
        self._show_view()

    def _show_view(self) -> None:
        self._dress(self._theme, self._zoom)
        self.window.view_desk.show_as(self._theme, self._zoom)

    @Slot(object)
    def _on_closing(self, values: stored.AppSettings) -> None:
        stored.save(self._store, values)

    @Slot()
    def _on_closed(self) -> None:
        self.hook.remove()
        if not self.errands.close(ERRAND_MS):
            self._on_leave_wished()
        self._garbage.stop()
        self._app.quit()

    @Slot()
    def _on_leave_wished(self) -> None:
        logger.warning("left while a step was still running")
        logging.shutdown()
        os._exit(0)  # the thread holds the device and cannot be ended otherwise


def main(options: argparse.Namespace) -> int:
    """Open the window and stay until it is closed."""
    sys.setswitchinterval(SWITCH_SECONDS)
    start_logging()
    app = QApplication(sys.argv[:1])
    app.setApplicationName("Draftrace")
    app.setWindowIcon(program_icon())
    app.setDesktopFileName("draftrace")
    application = Application(app, Session(), stored.store(), options)
    script = ScriptedStart(application, options)
    application.start()
    app.exec()
    return script.exit_code
