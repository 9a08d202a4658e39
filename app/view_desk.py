"""The View menu: which round, what is shown of it, theme and size of the type."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QAction

from app.decode_page import DecodePage
from app.menus import Actions


class ViewDesk(QObject):
    """Shows what the View menu asks for; the application dresses all windows.

    Signals:
        theme_wished: the name of a theme.
        zoom_wished: how many steps larger the type should be; 0 is normal.
    """

    theme_wished = Signal(str)
    zoom_wished = Signal(int)

    def __init__(
        self, page: DecodePage, actions: Actions, theme: str, zoom: int, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._page, self._actions = page, actions
        self.show_as(theme, zoom)
        actions["show_rejected"].toggled.connect(self._on_show_rejected)
        actions["show_left"].toggled.connect(page.left.setVisible)
        actions["show_right"].toggled.connect(page.right.setVisible)
        actions.themes.triggered.connect(self._on_theme_chosen)

    def show_as(self, theme: str, zoom: int) -> None:
        """Keep what the application applied, for the menu and the next start."""
        self.theme, self.zoom = theme, zoom
        self._actions.tick_theme(theme)

    @Slot()
    def earlier_round(self) -> None:
        """Go back by a round."""
        self._page.scrub(-1)

    @Slot()
    def later_round(self) -> None:
        """Go on by a round."""
        self._page.scrub(+1)

    @Slot()
    def larger(self) -> None:
        """Wish for larger type."""
        self.zoom_wished.emit(self.zoom + 1)

    @Slot()
    def smaller(self) -> None:
        """Wish for smaller type."""
        self.zoom_wished.emit(self.zoom - 1)

    @Slot()
    def normal(self) -> None:
        """Wish for type of the system's size."""
        self.zoom_wished.emit(0)

    @Slot(bool)
    def _on_show_rejected(self, shown: bool) -> None:
        for lane in self._page.lanes.values():
            lane.set_show_rejected(shown)

    @Slot(QAction)
    def _on_theme_chosen(self, action: QAction) -> None:
        self.theme_wished.emit(action.data())
