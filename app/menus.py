"""All actions of the window: menu, text, keys, in one table."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QMainWindow, QMenu

from app.jobs import State
from app.themes import THEMES

THEME_LABELS = {
    "system": "As the system",
    "light": "Light",
    "dark": "Dark",
    "high-contrast": "High contrast",
}


IDLE_ONLY = (
    *("run", "race", "load", "open_trace", "open_demo", "save_trace"),
    *("choose_target", "choose_draft"),
)


@dataclass(frozen=True, slots=True)
class _Entry:
    name: str
    text: str
    keys: tuple[str, ...] = ()
    checkable: bool = False


_LINE = _Entry("", "")
_MENUS: dict[str, tuple[_Entry, ...]] = {
    "&File": (
        _Entry("open_trace", "&Open trace…", ("Ctrl+O",)),
        _Entry("open_demo", "Open the recorded &demo"),
        _Entry("save_trace", "&Save trace…", ("Ctrl+S",)),
        _LINE,
        _Entry("choose_target", "Choose the &target…", ("Ctrl+T",)),
        _Entry("choose_draft", "Choose the d&raft…", ("Ctrl+D",)),
        _LINE,
        _Entry("export", "&Export plots…", ("Ctrl+E",)),
        _Entry("report", "Export &report…", ("Ctrl+Shift+E",)),
        _Entry("profile", "Export for a &profiler…"),
        _LINE,
        _Entry("quit", "&Quit", ("Ctrl+Q",)),
    ),
    "&View": (
        _Entry("show_rejected", "Show &rejected proposals", ("Ctrl+R",), True),
        _Entry("show_left", "Settings on the &left", ("Ctrl+1",), True),
        _Entry("show_right", "&Plots on the right", ("Ctrl+2",), True),
        _LINE,
        _Entry("present", "&Present", ("Ctrl+P",)),
        _Entry("full_screen", "&Full screen", ("F11",)),
        _Entry("leave", "Lea&ve the stage", ("Esc",)),
        _LINE,
        _Entry("larger", "L&arger type", ("Ctrl++", "Ctrl+=")),
        _Entry("smaller", "S&maller type", ("Ctrl+-",)),
        _Entry("normal", "&Normal type", ("Ctrl+0",)),
    ),
    "&Run": (
        _Entry("run", "&Run", ("F5",)),
        _Entry("race", "R&ace", ("F6",)),
        _Entry("pause", "&Pause or resume", ("F7",)),
        _Entry("step", "&Step one round", ("F8",)),
        _Entry("stop", "S&top", ("Esc",)),
        _LINE,
        _Entry("earlier_round", "&Earlier round", ("Alt+Left",)),
        _Entry("later_round", "La&ter round", ("Alt+Right",)),
        _LINE,
        _Entry("edit_prompt", "Go to the pro&mpt", ("Ctrl+L",)),
        _Entry("load", "&Load the pair", ("Ctrl+Shift+L",)),
        _Entry("make_draft", "Ma&ke a draft for this target…", ("Ctrl+M",)),
    ),
    "&Help": (
        _Entry("help", "&Help pages", ("F1",)),
        _Entry("tour", "&Guided tour: a round in five steps", ("Shift+F1",)),
        _Entry("doctor", "&Doctor: what to paste into a bug report"),
        _Entry("about", "&About Draftrace"),
    ),
}


class Actions:
    """The window's actions by name; the window connects them."""

    def __init__(self, window: QMainWindow) -> None:
        self._actions: dict[str, QAction] = {}
        self.themes = QActionGroup(window)
        for title, entries in _MENUS.items():
            menu = window.menuBar().addMenu(title)
            for entry in entries:
                self._add(menu, entry, window)
            if title == "&View":
                self._add_themes(menu)

    def __getitem__(self, name: str) -> QAction:
        """Return the action of a name."""
        return self._actions[name]

    def offer(self, state: State) -> None:
        """Offer what can be done in a state of the controller."""
        idle, going = not state.is_busy, state in (State.RUNNING, State.PAUSED)
        for name in IDLE_ONLY:
            self[name].setEnabled(idle)
        self["pause"].setEnabled(going)
        self["step"].setEnabled(idle or going)
        self["stop"].setEnabled(not idle)

    def tick_theme(self, name: str) -> None:
        """Mark the theme that is wished for."""
        for action in self.themes.actions():
            action.setChecked(action.data() == name)

    def _add(self, menu: QMenu, entry: _Entry, window: QMainWindow) -> None:
        if not entry.name:
            menu.addSeparator()
            return
        action = QAction(entry.text, window, checkable=entry.checkable)
        action.setShortcuts([QKeySequence(keys) for keys in entry.keys])
        menu.addAction(action)
        action.setEnabled(entry.name != "leave")  # Esc stops, but on the stage
        self._actions[entry.name] = action

    def _add_themes(self, menu: QMenu) -> None:
        themes = menu.addMenu("&Theme")
        for name in THEMES:
            action = themes.addAction(THEME_LABELS[name])
            action.setCheckable(True)
            action.setData(name)
            self.themes.addAction(action)
