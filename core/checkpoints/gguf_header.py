"""Reading what a GGUF file holds without reading its weights.

The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. The gguf library
takes seconds to read a vocabulary; this walks it in a fraction of one.
"""

from __future__ import annotations

import math
import mmap
import struct
from collections import Counter
from collections.abc import Container
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.errors import ModelLoadError

_FORMATS = {
    0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?",
    10: "<Q", 11: "<q", 12: "<d",
}  # fmt: skip
_STRING, _ARRAY = 8, 9
_VERSIONS = (2, 3)
_MAX_COUNT = 1 << 32


@dataclass(slots=True)
class GgufHeader:
    """The metadata and the tensor table of a GGUF file.

    Attributes:
        metadata: by key; an array of strings that was not asked for is its length.
        shapes: of every tensor by name, as stored (fastest dimension first).
        types: the ggml type of every tensor, by name.
        data_end: how long the file must be.
    """

    metadata: dict[str, Any] = field(default_factory=dict)
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    types: dict[str, int] = field(default_factory=dict)
    data_end: int = 0

    @property
    def architecture(self) -> str:
        """The family, for example ``llama``."""
        return str(self.metadata.get("general.architecture", ""))

    def hyper(self, key: str, default: Any = 0) -> Any:
        """Return a value that the format prefixes with the architecture."""
        return self.metadata.get(f"{self.architecture}.{key}", default)

    def main_type(self) -> str:
        """Return the name of the ggml type in which most weights are stored."""
        from gguf.constants import GGMLQuantizationType

        sizes: Counter[int] = Counter()
        for name, shape in self.shapes.items():
            sizes[self.types[name]] += math.prod(shape)
        return GGMLQuantizationType(sizes.most_common(1)[0][0]).name if sizes else ""


def read_gguf_header(file: Path, keep: Container[str] = ()) -> GgufHeader:
    """Return the header of a GGUF file.

    Args:
        file: the file.
        keep: keys of string arrays to read in full, for example the tokens.

    Raises:
        ModelLoadError: if it is no GGUF file, or cut short.
    """
    size = file.stat().st_size
    if size < 24:
        raise _broken(file, "is no GGUF file")
    with (
        file.open("rb") as stream,
        mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data,
    ):
        try:
            header = _Reader(file, data, keep).read()
        except (struct.error, ValueError, OverflowError) as error:
            raise _broken(file, "is cut short or damaged in its header") from error
    if size < header.data_end:
        raise _broken(file, f"is cut short ({size:,} of {header.data_end:,} bytes)")
    return header


class _Reader:
    """A place in the file that moves forward."""

    def __init__(self, file: Path, data: mmap.mmap, keep: Container[str]) -> None:
        self._file, self._data, self._keep = file, data, keep
        self._at = 0

    def read(self) -> GgufHeader:
        if self._data[:4] != b"GGUF":
            raise _broken(self._file, "is no GGUF file")
        self._at = 4
        (version,) = self._unpack("<I")
        if version not in _VERSIONS:
            raise _broken(self._file, f"has GGUF version {version}, not 2 or 3")
        num_tensors, num_keys = self._unpack("<QQ")
        header = GgufHeader()
        for _ in range(num_keys):
            key = self._string()
            header.metadata[key] = self._value(self._unpack("<I")[0], key in self._keep)
        self._tensors(header, num_tensors)
        return header

    def _tensors(self, header: GgufHeader, count: int) -> None:
        ends = []
        for _ in range(count):
            name = self._string()
            (num_dims,) = self._unpack("<I")
            if num_dims > 8:
                raise ValueError("too many dimensions")
            header.shapes[name] = shape = self._unpack(f"<{num_dims}Q")
            kind, offset = self._unpack("<IQ")
            header.types[name] = kind
            ends.append(offset + _tensor_bytes(self._file, kind, shape))
        alignment = int(header.metadata.get("general.alignment", 32))
        start = -(-self._at // alignment) * alignment
        header.data_end = start + max(ends, default=0)

    def _unpack(self, form: str) -> tuple[Any, ...]:
        values = struct.unpack_from(form, self._data, self._at)
        self._at += struct.calcsize(form)
        return values

    def _string(self) -> str:
        (length,) = self._unpack("<Q")
        return self._bytes(length).decode("utf-8", errors="replace")

    def _bytes(self, length: int) -> bytes:
        if self._at + length > len(self._data):
            raise ValueError("a text ends behind the file")
        self._at += length
        return self._data[self._at - length : self._at]

    def _value(self, kind: int, keep: bool) -> Any:
        if kind in _FORMATS:
            return self._unpack(_FORMATS[kind])[0]
        if kind == _STRING:
            return self._string()
        if kind != _ARRAY:
            raise ValueError(f"unknown kind of value {kind}")
        kind, count = self._unpack("<IQ")
        if count > _MAX_COUNT:
            raise ValueError("too long an array")
        if kind in _FORMATS:
            return self._unpack(f"<{count}{_FORMATS[kind][1]}")
        if kind == _STRING and not keep:
            for _ in range(count):
                self._bytes(self._unpack("<Q")[0])
            return count
        return tuple(self._value(kind, keep) for _ in range(count))


def _tensor_bytes(file: Path, kind: int, shape: tuple[int, ...]) -> int:
    from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

    try:
        block, block_bytes = GGML_QUANT_SIZES[GGMLQuantizationType(kind)]
    except (ValueError, KeyError) as error:
        raise _broken(file, f"stores weights in the unknown type {kind}") from error
    return math.prod(shape) // block * block_bytes


def _broken(file: Path, what: str) -> ModelLoadError:
    return ModelLoadError(
        f"The file {file.name} {what}; copy or download it again.", file=file.name
    )
