"""The checks of losslessness as rows: name, verdict, figures."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt

from app.theme import Theme
from app.views.labels import DASH, seconds
from core.lab.checks import Check

_Index = QModelIndex | QPersistentModelIndex

HEADINGS = ("Check", "Verdict", "Statistic", "p", "Samples", "Power", "Time")
NAME, VERDICT = 0, 1
RUNNING = "checking…"
SIGNS = {"PASS": "✓ PASS", "FAIL": "✗ FAIL", "NEAR TIE": "≈ NEAR TIE"}
ROLES = {"PASS": "accepted", "FAIL": "error", "NEAR TIE": "warning"}


class ChecksTable(QAbstractTableModel):
    """Finished checks, and below them the one that runs."""

    def __init__(self) -> None:
        super().__init__()
        self.checks: list[Check] = []
        self._running = ""

    def clear(self) -> None:
        """Forget all checks."""
        self.beginResetModel()
        self.checks, self._running = [], ""
        self.endResetModel()

    def begin(self, name: str) -> None:
        """Show that a check runs."""
        self.end()
        self.beginInsertRows(QModelIndex(), len(self.checks), len(self.checks))
        self._running = name
        self.endInsertRows()

    def end(self) -> None:
        """Show that none runs any more."""
        if self._running:
            self.beginRemoveRows(QModelIndex(), len(self.checks), len(self.checks))
            self._running = ""
            self.endRemoveRows()

    def add(self, check: Check) -> None:
        """Show what a check found, in the place of the one that runs."""
        self.end()
        self.beginInsertRows(QModelIndex(), len(self.checks), len(self.checks))
        self.checks.append(check)
        self.endInsertRows()

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008 (Qt's own)
        return 0 if parent.isValid() else len(self.checks) + bool(self._running)

    def columnCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008
        return len(HEADINGS)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = 0
    ) -> Any:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _LEFT if section in (NAME, VERDICT) else _RIGHT
        return HEADINGS[section] if role == Qt.ItemDataRole.DisplayRole else None

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        check = self.check_at(index.row())
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _LEFT if index.column() in (NAME, VERDICT) else _RIGHT
        if role == Qt.ItemDataRole.DisplayRole:
            return self._text(check, index.column())
        if role == Qt.ItemDataRole.ToolTipRole and check is not None:
            return check.detail
        if role == Qt.ItemDataRole.ForegroundRole:
            return Theme.current().color(self._role(check, index.column()))
        return None

    def check_at(self, row: int) -> Check | None:
        """Return the finished check of a row; None for the one that runs."""
        return self.checks[row] if 0 <= row < len(self.checks) else None

    def _text(self, check: Check | None, column: int) -> str:
        if check is None:
            return (_capital(self._running), RUNNING, *[""] * 5)[column]
        return (
            _capital(check.name),
            SIGNS[check.verdict],
            f"{check.statistic:.4g}",
            DASH if check.p_value is None else f"{check.p_value:.3g}",
            f"{check.samples:,}",
            DASH if check.power is None else f"{check.power:.3f}",
            seconds(1000 * check.seconds),
        )[column]

    def _role(self, check: Check | None, column: int) -> str:
        if check is None:
            return "muted"
        return ROLES[check.verdict] if column == VERDICT else "text"


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]


_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
