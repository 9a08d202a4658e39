"""The checkpoints that can be chosen, with why one cannot."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, Qt

from core.config import DrafterKind

_Index = QModelIndex | QPersistentModelIndex


class Ask(Enum):
    """An entry that asks for something instead of naming a checkpoint."""

    BROWSE = auto()
    FOLDER = auto()
    FILE = auto()


@dataclass(frozen=True, slots=True)
class Choice:
    """One entry of a list of checkpoints.

    Attributes:
        label: for people.
        reference: what the core loads; empty for a drafter without a checkpoint.
        kind: what drafts, in a list of drafters; None in a list of targets.
        note: size, or why it cannot be used.
        usable: can be chosen.
        ask: set for "All checkpoints…", "Folder…" and "GGUF file…".
    """

    label: str
    reference: str = ""
    kind: DrafterKind | None = None
    note: str = ""
    usable: bool = True
    ask: Ask | None = None

    def names_same(self, other: Choice) -> bool:
        """Return whether both stand for the same thing."""
        mine = (self.reference, self.kind, self.ask)
        return mine == (other.reference, other.kind, other.ask)


class CheckpointList(QAbstractListModel):
    """A list of choices for a combo box."""

    def __init__(self, choices: tuple[Choice, ...] = ()) -> None:
        super().__init__()
        self._choices = choices

    @property
    def choices(self) -> tuple[Choice, ...]:
        """All entries in order."""
        return self._choices

    def set_choices(self, choices: tuple[Choice, ...]) -> None:
        """Offer other entries."""
        self.beginResetModel()
        self._choices = choices
        self.endResetModel()

    def find(self, choice: Choice) -> int:
        """Return the row that stands for ``choice``, or -1."""
        rows = (i for i, c in enumerate(self._choices) if c.names_same(choice))
        return next(rows, -1)

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008 (Qt's own)
        return 0 if parent.isValid() else len(self._choices)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        choice = self._choices[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return choice.label
        if role in (Qt.ItemDataRole.ToolTipRole, _DESCRIPTION):
            return choice.note
        return choice if role == Qt.ItemDataRole.UserRole else None

    def flags(self, index: _Index) -> Qt.ItemFlag:
        usable = self._choices[index.row()].usable
        return super().flags(index) if usable else Qt.ItemFlag.NoItemFlags


_DESCRIPTION = Qt.ItemDataRole.AccessibleDescriptionRole
