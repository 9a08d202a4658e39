"""What a person left behind: the view, the pair, the prompt, the settings.

Stored as an ini file, one value a key. A value that cannot be read falls back to its
default alone; the others stay.
"""

from __future__ import annotations

import dataclasses
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from PySide6.QtCore import QByteArray, QSettings

from app.themes import THEMES
from core.config import (
    DecodingConfig,
    DrafterKind,
    ModelConfig,
    PairConfig,
    describe,
)
from core.demo_pair import demo_config, demo_pair
from core.errors import CoreError

logger = logging.getLogger(__name__)

VERSION = 1
LARGEST_ZOOM = 8

# From an older version to the next: a function that rewrites the stored values.
MIGRATIONS: dict[int, Callable[[QSettings], None]] = {}


@dataclass(frozen=True)
class AppSettings:
    """Everything that comes back at the next start.

    Attributes:
        geometry: size and place of the window, as Qt packs them.
        splitters: the state of each splitter by its name.
        theme: one of THEMES.
        zoom: steps by which the type is larger (or smaller) than the system's.
        show_rejected: refused proposals are folded into the text.
        show_left: the column of settings is visible.
        show_right: the column of plots is visible.
        show_ids: the prompt's token ids are unfolded.
        more: the seldom used settings are unfolded.
        decoding: the settings of the panel.
        pair: target, drafter, device and dtype.
        prompt: the text in the editor.
        use_chat_template: as ticked.
        system: the system turn under a chat template.
        folder: where the last file was opened or saved.
        places: the person's folders of checkpoints and single files.
        recent: the pairs that were loaded last, the newest first.
    """

    geometry: bytes = b""
    splitters: dict[str, bytes] = field(default_factory=dict)
    theme: str = "system"
    zoom: int = 0
    show_rejected: bool = False
    show_left: bool = True
    show_right: bool = True
    show_ids: bool = False
    more: bool = False
    decoding: DecodingConfig = field(default_factory=demo_config)
    pair: PairConfig = field(default_factory=demo_pair)
    prompt: str = ""
    use_chat_template: bool = True
    system: str = ""
    folder: str = ""
    places: tuple[str, ...] = ()
    recent: tuple[PairConfig, ...] = ()


def store() -> QSettings:
    """Return the person's own settings file."""
    return QSettings(
        QSettings.Format.IniFormat, QSettings.Scope.UserScope, "Draftrace", "Draftrace"
    )


def load(settings: QSettings) -> AppSettings:
    """Read everything; what is missing or damaged is its default."""
    _migrate(settings)
    defaults = AppSettings()
    values: dict[str, Any] = {}
    for name, read in _READERS.items():
        if settings.contains(name):
            values[name] = _read(name, read, settings.value(name), defaults)
    values["splitters"] = _read_splitters(settings)
    return dataclasses.replace(defaults, **values)


def save(settings: QSettings, values: AppSettings) -> None:
    """Write everything."""
    settings.setValue("version", VERSION)
    for name, write in _WRITERS.items():
        settings.setValue(name, write(getattr(values, name)))
    for name, state in values.splitters.items():
        settings.setValue(f"splitters/{name}", QByteArray(state))
    settings.sync()


def _migrate(settings: QSettings) -> None:
    try:
        version = int(str(settings.value("version", VERSION)))
    except ValueError:
        version = VERSION
    while version in MIGRATIONS and version < VERSION:
        MIGRATIONS[version](settings)
        version += 1


def _read(
    name: str, read: Callable[[Any], Any], value: Any, defaults: AppSettings
) -> Any:
    try:
        return read(value)
    except (ValueError, TypeError, KeyError, AttributeError, CoreError):
        logger.warning("the stored value of %s cannot be read; using its default", name)
        return getattr(defaults, name)


# One reader a field -------------------------------------------------------------------


def _bool(value: Any) -> bool:
    text = str(value).lower()
    if text not in ("true", "false"):
        raise ValueError(text)
    return text == "true"


def _zoom(value: Any) -> int:
    return max(-LARGEST_ZOOM, min(LARGEST_ZOOM, int(value)))


def _theme(value: Any) -> str:
    if value not in THEMES:
        raise ValueError(value)
    return str(value)


def _bytes(value: Any) -> bytes:
    if not isinstance(value, QByteArray):
        raise TypeError(type(value))
    return bytes(value.data())


def _read_splitters(settings: QSettings) -> dict[str, bytes]:
    settings.beginGroup("splitters")
    states = {name: settings.value(name) for name in settings.childKeys()}
    settings.endGroup()
    return {n: bytes(s.data()) for n, s in states.items() if isinstance(s, QByteArray)}


def _decoding(value: Any) -> DecodingConfig:
    """Read setting by setting, so that one bad value costs only itself."""
    stored = json.loads(value)
    config = demo_config()
    for name in describe():
        if name in stored:
            try:
                config = dataclasses.replace(config, **{name: stored[name]})
            except (CoreError, TypeError):
                logger.warning("the stored %s cannot be used", name)
    return config


def _pair(value: Any) -> PairConfig:
    return _pair_of(json.loads(value))


def _pairs(value: Any) -> tuple[PairConfig, ...]:
    return tuple(_pair_of(stored) for stored in json.loads(value))


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(str(text) for text in json.loads(value))


def _pair_of(stored: Any) -> PairConfig:
    draft = stored.get("draft")
    pair = PairConfig(
        _model(stored["target"]),
        DrafterKind(stored["drafter"]),
        _model(draft) if draft else None,
    )
    if (pair.drafter is DrafterKind.CHECKPOINT) != (pair.draft is not None):
        raise ValueError(stored)
    return pair


def _model(stored: dict[str, Any]) -> ModelConfig:
    parts = (stored["reference"], stored["device"], stored["dtype"])
    if not all(isinstance(part, str) and part for part in parts):
        raise ValueError(stored)
    return ModelConfig(*parts)


def _as_json(value: Any) -> str:
    return json.dumps(dataclasses.asdict(value))


_READERS: dict[str, Callable[[Any], Any]] = {
    "geometry": _bytes,
    "theme": _theme,
    "zoom": _zoom,
    "show_rejected": _bool,
    "show_left": _bool,
    "show_right": _bool,
    "show_ids": _bool,
    "more": _bool,
    "decoding": _decoding,
    "pair": _pair,
    "prompt": str,
    "use_chat_template": _bool,
    "system": str,
    "folder": str,
    "places": _texts,
    "recent": _pairs,
}
_WRITERS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(_READERS, lambda value: value),
    "geometry": QByteArray,
    "decoding": _as_json,
    "pair": _as_json,
    "places": json.dumps,
    "recent": lambda pairs: json.dumps([dataclasses.asdict(p) for p in pairs]),
}
