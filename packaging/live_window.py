"""Time the demo pair with the window live and without one, by turns, by wall time.

    python packaging/live_window.py

The window shows each of its runs as any other; between them the same request is decoded
while the window stands still. Every run has the same tokens, and the first of each kind
warms up. On a machine without a display put QT_QPA_PLATFORM=offscreen before it. Run it
on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # for a checkout that is not installed

from PySide6.QtCore import QObject, QSettings, QTimer, Slot  # noqa: E402
from PySide6.QtWidgets import QApplication  # noqa: E402

from app import options as window_options  # noqa: E402
from app.application import SWITCH_SECONDS, Application  # noqa: E402
from core.config import DecodingRequest  # noqa: E402
from core.control import Control  # noqa: E402
from core.events import Event, PrefillFinished, RoundFinished  # noqa: E402
from core.session import Session  # noqa: E402

SETTLE_MS = 500  # the views paint the end of a run on timers of their own
DONE, FAILED = 0, 1


class StampedSession(Session):
    """A session that notes the rate of each run, between prefill and last round."""

    def __init__(self) -> None:
        super().__init__()
        self.rates: list[float] = []
        self.request: DecodingRequest | None = None

    def run(self, request: DecodingRequest, control: Control) -> Iterator[Event]:
        """Decode; see :meth:`core.session.Session.run`."""
        self.request, begin, end, emitted = request, 0.0, 0.0, 0
        for event in super().run(request, control):
            if isinstance(event, PrefillFinished):
                begin = time.perf_counter()
            if isinstance(event, RoundFinished):
                end, emitted = time.perf_counter(), emitted + event.counts.emitted
            yield event
        self.rates.append(emitted / (end - begin))


class Turns(QObject):
    """Let the window run, then decode the same while it stands still, again and again.

    Signals:
        none.
    """

    def __init__(self, application: Application, session: StampedSession, repeats: int):
        super().__init__(application)
        self._application = application  # nobody else keeps it
        self._window, self._session = application.window, session
        self._left = repeats + 1
        self.exit_code = FAILED
        self.live: list[float] = []
        self.headless: list[float] = []
        application.window.pair_desk.looked.connect(self._on_looked)
        application.controller.finished.connect(self._on_finished)
        application.controller.failed.connect(self._on_failed)

    @Slot()
    def _on_looked(self) -> None:
        if self._session.request is None and not self._window.is_busy():
            self._window.run_desk.run()

    @Slot(str, str)
    def _on_failed(self, sentence: str, detail: str) -> None:
        sys.stderr.write(f"{sentence}\n")
        self._left = 0

    @Slot()
    def _on_finished(self) -> None:
        QTimer.singleShot(SETTLE_MS, self._on_settled)

    @Slot()
    def _on_settled(self) -> None:
        if self._left:
            self.live.append(self._session.rates[-1])
            self.headless.append(self._decode_alone())
            self._left -= 1
            self.exit_code = FAILED if self._left else DONE
        if self._left:
            self._window.run_desk.run()
        else:
            self._window.close()

    def _decode_alone(self) -> float:
        request = self._session.request
        assert request is not None
        sys.setswitchinterval(0.005)  # Python's own, as on the command line
        for _ in self._session.run(request, Control(request.config)):
            pass
        sys.setswitchinterval(SWITCH_SECONDS)
        return self._session.rates[-1]


def main(arguments: list[str] | None = None) -> int:
    """Print the medians and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--max-new-tokens", type=int, default=192)
    parser.add_argument("--temperature", type=float, default=0.0)
    wanted = parser.parse_args(arguments)
    sys.setswitchinterval(SWITCH_SECONDS)
    app = QApplication(sys.argv[:1])
    with tempfile.TemporaryDirectory() as folder:
        turns = _turns(app, Path(folder), wanted)
        app.exec()
    if turns.exit_code == DONE:
        sys.stdout.write(_sentence(turns.live[1:], turns.headless[1:]))
    return turns.exit_code


def _turns(app: QApplication, folder: Path, wanted: argparse.Namespace) -> Turns:
    options = window_options.parse(
        [
            "--quit",
            "--size=1280x800",
            f"--max-new-tokens={wanted.max_new_tokens}",
            f"--temperature={wanted.temperature}",
        ]
    )
    session = StampedSession()
    store = QSettings(str(folder / "settings.ini"), QSettings.Format.IniFormat)
    application = Application(app, session, store, options)
    turns = Turns(application, session, wanted.repeats)
    application.window.resize(*options.size)
    application.start()
    return turns


def _sentence(live: list[float], headless: list[float]) -> str:
    pairs = sorted(a / b for a, b in zip(live, headless, strict=True))
    return (
        f"live {median(live):.1f} tokens/s, headless {median(headless):.1f}; "
        f"live over headless {median(pairs):.3f} ({pairs[0]:.3f} to {pairs[-1]:.3f})\n"
    )


if __name__ == "__main__":
    sys.exit(main())
