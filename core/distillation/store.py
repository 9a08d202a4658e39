"""Collected texts on disk: one file a batch, so that collecting can go on later."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from safetensors import safe_open
from safetensors.torch import load_file, save_file

from core.distillation.collecting import Texts
from core.errors import ConfigurationError

SETTINGS = "collection.json"
_PATTERN = "texts-*.safetensors"


class TextStore:
    """A folder of texts that were all drawn from one target in one way.

    Args:
        folder: made if it is not there.
        source: what the texts depend on (target, prompts, settings), as plain values.

    Raises:
        ConfigurationError: if the folder's texts were drawn in another way.
    """

    def __init__(self, folder: Path, source: dict[str, Any]) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        settings = folder / SETTINGS
        source = json.loads(json.dumps(source))
        if not settings.exists():
            settings.write_text(json.dumps(source, indent=2), encoding="utf-8")
        found = json.loads(settings.read_text(encoding="utf-8"))
        if found != source:
            _refuse(folder, found, source)

    def indices(self) -> list[int]:
        """Return the numbers of the batches that are here, ascending."""
        return sorted(int(p.stem.split("-")[1]) for p in self.folder.glob(_PATTERN))

    def add(self, index: int, texts: Texts) -> None:
        """Write one batch; it is there as a whole or not at all."""
        path = self._path(index)
        scratch = path.with_suffix(".part")
        tensors = {
            name: value.contiguous()
            for name, value in vars_of(texts).items()
            if name != "prompt_length"
        }
        save_file(tensors, scratch, metadata={"length": str(texts.prompt_length)})
        scratch.replace(path)

    def read(self, index: int) -> Texts:
        """Return one batch."""
        path = self._path(index)
        with safe_open(path, framework="pt") as file:
            length = int(file.metadata()["length"])
        return Texts(prompt_length=length, **load_file(path))

    def all(self) -> Iterator[Texts]:
        """Yield every batch in order."""
        for index in self.indices():
            yield self.read(index)

    def _path(self, index: int) -> Path:
        return self.folder / f"texts-{index:06}.safetensors"


def vars_of(texts: Any) -> dict[str, Any]:
    """Return the fields of ``texts`` by name, uncopied."""
    return {f.name: getattr(texts, f.name) for f in dataclasses.fields(texts)}


def _refuse(folder: Path, found: dict[str, Any], source: dict[str, Any]) -> None:
    keys = found.keys() | source.keys()
    first = min(key for key in keys if found.get(key) != source.get(key))
    raise ConfigurationError(
        f"The texts in {folder} were collected with {first} {found.get(first)!r}, not "
        f"{source.get(first)!r}; choose another folder or the same settings."
    )
