"""The prompt: editor, chat template, library, and the ids that it becomes."""

from __future__ import annotations

from PySide6.QtCore import QTimer, Signal, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QCheckBox,
    QLineEdit,
    QMenu,
    QPlainTextEdit,
    QWidget,
)

from app.fonts import token_font
from app.panels.parts import LinkButton, column_in, muted, row_in, section_title
from app.theme import notifier
from core.prompts import Prompt, library, start_prompt

SETTLE_MS = 300  # after the last key, before the ids are asked for
MOST_LISTED = 40  # prompts of a file; a menu has no scroll bar
UNKNOWN = "tokens are counted once the pair is loaded"


class PromptPanel(QWidget):
    """What the target continues.

    Signals:
        changed: the text or the template's tick changed (once typing settled).
        file_asked: open a file of prompts.
    """

    changed = Signal()
    file_asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.editor = QPlainTextEdit(tabChangesFocus=True)
        self.template = QCheckBox("Chat template")
        self.count = muted()
        self.ids = QPlainTextEdit(readOnly=True)
        self.show_ids = LinkButton("Show ids")
        self.library, self.open = LinkButton("Library…"), LinkButton("Open…")
        self.system = QLineEdit()
        self._opened: QMenu | None = None  # the prompts of a file
        self._settle = QTimer(self, interval=SETTLE_MS, singleShot=True)
        self._name_controls()
        self._place()
        self._wire()
        self.show_tokens(None)

    def text(self) -> str:
        """Return the prompt as typed."""
        return self.editor.toPlainText()

    def system_turn(self) -> str:
        """Return the system turn; empty for the template's own, or without one."""
        return self.system.text() if self.uses_template() else ""

    def set_system_turn(self, text: str) -> None:
        """Show a system turn."""
        self.system.setText(text)

    def uses_template(self) -> bool:
        """Return whether the prompt goes through the chat template."""
        return self.template.isChecked()

    def set_prompt(self, text: str, use_template: bool) -> None:
        """Show a prompt."""
        self.editor.setPlainText(text)
        self.template.setChecked(use_template)

    def start_with(self, preset: Prompt | None = None) -> None:
        """Show a prompt of the library, by default the one for a first start."""
        preset = preset or start_prompt()
        self.set_prompt(preset.text, preset.chat)

    def offer_file(self, name: str, prompts: tuple[Prompt, ...]) -> None:
        """Show the first prompt of a file, and the others in the library's menu."""
        if self._opened is not None:
            self._opened.deleteLater()
            self._opened = None
        first, *others = prompts
        if others:
            self._opened = self._menu_of(name, prompts)
        self.start_with(first)

    def show_tokens(self, tokens: tuple[tuple[int, str], ...] | None) -> None:
        """Show the ids that the prompt becomes; None while nobody can tell."""
        self.count.setText(UNKNOWN if tokens is None else f"{len(tokens):,} tokens")
        lines = () if tokens is None else (f"{i:>6}  {label!r}" for i, label in tokens)
        self.ids.setPlainText("\n".join(lines))

    def ids_are_open(self) -> bool:
        """Return whether the ids are unfolded."""
        return self.show_ids.isChecked()

    def set_ids_open(self, opened: bool) -> None:
        """Unfold the ids or fold them away."""
        self.show_ids.setChecked(opened)

    def set_locked(self, locked: bool) -> None:
        """Keep the prompt as it is while a run goes on; it stays readable."""
        self.editor.setReadOnly(locked)
        self.template.setEnabled(not locked)
        self.system.setReadOnly(locked)
        for button in (self.library, self.open):
            button.setEnabled(not locked)
        reason = "The prompt waits for the next run." if locked else ""
        for control in (self.editor, self.template, self.library, self.open):
            control.setToolTip(reason)

    def _name_controls(self) -> None:
        self.editor.setProperty("field", True)
        self.editor.setAccessibleName("Prompt")
        self.editor.setPlaceholderText("What the target continues")
        self.editor.setFixedHeight(132)
        self.template.setAccessibleDescription("Wrap the prompt in the chat template.")
        self.ids.setProperty("field", True)
        self.ids.setAccessibleName("Token ids of the prompt")
        self.ids.setFixedHeight(140)
        self.ids.setVisible(False)
        self.show_ids.setCheckable(True)
        self.show_ids.setAccessibleDescription("Show the ids that the prompt becomes.")
        self.library.setAccessibleDescription("Choose a prompt by kind of text.")
        self.library.setMenu(self._menu())
        self.open.setAccessibleDescription("Open a text or JSON-lines file of prompts.")
        self.system.setAccessibleName("System turn")
        self.system.setPlaceholderText("System turn (optional)")
        self._restyle()

    def _place(self) -> None:
        column = column_in(self)
        head = row_in()
        head.addWidget(section_title("Prompt"), 1)
        head.addWidget(self.open)
        head.addWidget(self.library)
        column.addLayout(head)
        column.addWidget(self.editor)
        foot = row_in()
        foot.addWidget(self.template, 1)
        foot.addWidget(self.show_ids)
        column.addLayout(foot)
        column.addWidget(self.system)
        column.addWidget(self.count)
        column.addWidget(self.ids)

    def _wire(self) -> None:
        self.editor.textChanged.connect(self._settle.start)
        self.template.toggled.connect(self._settle.start)
        self.template.toggled.connect(self.system.setEnabled)
        self.system.textChanged.connect(self._settle.start)
        self.open.clicked.connect(self.file_asked)
        self._settle.timeout.connect(self._on_settled)
        self.show_ids.toggled.connect(self._on_ids_toggled)
        notifier().changed.connect(self._restyle)

    def _menu(self) -> QMenu:
        menu = QMenu(self)
        kinds: dict[str, QMenu] = {}
        for preset in library():
            if preset.kind not in kinds:
                kinds[preset.kind] = menu.addMenu(preset.kind.capitalize())
            action = kinds[preset.kind].addAction(preset.title)
            action.setData(preset)
        menu.triggered.connect(self._on_preset_chosen)
        return menu

    def _menu_of(self, name: str, prompts: tuple[Prompt, ...]) -> QMenu:
        menu = self.library.menu().addMenu(name)
        for preset in prompts[:MOST_LISTED]:
            menu.addAction(preset.title.replace("&", "&&")).setData(preset)
        return menu

    @Slot(QAction)
    def _on_preset_chosen(self, action: QAction) -> None:
        self.start_with(action.data())
        self.editor.setFocus()

    @Slot()
    def _on_settled(self) -> None:
        self.changed.emit()

    @Slot(bool)
    def _on_ids_toggled(self, opened: bool) -> None:
        self.show_ids.setText("Hide ids" if opened else "Show ids")
        self.ids.setVisible(opened)

    @Slot()
    @Slot(object)
    def _restyle(self, theme: object = None) -> None:
        self.ids.setFont(token_font("small"))
