"""Reading what safetensors files hold without reading their weights."""

from __future__ import annotations

import json
import math
import struct
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.checkpoints.names import label
from core.errors import ModelLoadError

INDEX = "model.safetensors.index.json"
SINGLE = "model.safetensors"
_MAX_HEADER = 100 << 20
_DTYPES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16",
    "F8_E4M3": "float8", "F8_E5M2": "float8", "I8": "int8", "U8": "uint8",
    "I32": "int32", "I64": "int64",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class WeightFacts:
    """What the weight files of a checkpoint hold.

    Attributes:
        shapes: of every tensor, by name.
        dtype: in which most bytes are stored.
        size_bytes: of the files.
    """

    shapes: dict[str, tuple[int, ...]]
    dtype: str
    size_bytes: int

    @property
    def num_parameters(self) -> int:
        """Numbers stored."""
        return sum(math.prod(shape) for shape in self.shapes.values())


def read_weights(files: Iterable[Path]) -> WeightFacts:
    """Return what the safetensors ``files`` hold together.

    Raises:
        ModelLoadError: if a file is cut short or is no safetensors file.
    """
    shapes: dict[str, tuple[int, ...]] = {}
    bytes_of: Counter[str] = Counter()
    size = 0
    for file in files:
        size += file.stat().st_size
        for name, entry in read_header(file).items():
            begin, end = entry["data_offsets"]
            shapes[name] = tuple(entry["shape"])
            bytes_of[entry["dtype"]] += end - begin
    most = bytes_of.most_common(1)[0][0] if bytes_of else ""
    return WeightFacts(shapes, _DTYPES.get(most, most.lower()), size)


def weight_files(folder: Path) -> list[Path]:
    """Return the safetensors files of a checkpoint folder; empty if it has none.

    Raises:
        ModelLoadError: if the index is broken or names a file that is not there.
    """
    index = folder / INDEX
    if index.is_file():
        files = [folder / name for name in _indexed(index)]
        for file in files:
            if not file.is_file():
                raise ModelLoadError(
                    f"The checkpoint {label(folder)} lacks its weight file {file.name};"
                    " copy or download that file again.",
                    missing=file.name,
                )
        return files
    single = folder / SINGLE
    return [single] if single.is_file() else []


def read_header(file: Path) -> dict[str, Any]:
    """Return the tensor entries of one safetensors file.

    Raises:
        ModelLoadError: if the file is cut short or is no safetensors file.
    """
    size = file.stat().st_size
    with file.open("rb") as stream:
        start = stream.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
        if not 0 < length <= _MAX_HEADER:
            raise _broken(file, "is no safetensors file")
        header = _parse(file, stream.read(length), length)
    needed = (
        8 + length + max((e["data_offsets"][1] for e in header.values()), default=0)
    )
    if size < needed:
        raise _broken(file, f"is cut short ({size:,} of {needed:,} bytes)")
    return header


def _parse(file: Path, text: bytes, length: int) -> dict[str, Any]:
    if len(text) < length:
        raise _broken(file, "is cut short inside its header")
    try:
        header = json.loads(text)
        header.pop("__metadata__", None)
        for entry in header.values():
            _, _, (_, _) = entry["dtype"], entry["shape"], entry["data_offsets"]
    except (ValueError, AttributeError, KeyError, TypeError) as error:
        raise _broken(file, "is no safetensors file") from error
    return header


def _indexed(index: Path) -> list[str]:
    try:
        names = set(
            json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()
        )
        return sorted(Path(name).name for name in names)
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise ModelLoadError(
            f"The index {index.name} of {label(index.parent)} cannot be read; "
            "copy or download that file again."
        ) from error


def _broken(file: Path, what: str) -> ModelLoadError:
    return ModelLoadError(
        f"The weight file {file.name} of {label(file.parent)} {what}; copy or download "
        "it again.",
        file=file.name,
    )
