"""What a GGUF file is, from its header."""

from __future__ import annotations

import math
from pathlib import Path

from core.checkpoints.facts import CheckpointFacts, CheckpointKind
from core.checkpoints.families import check_gguf, unrewindable_gguf
from core.checkpoints.folder_inspection import NO_LIMIT
from core.checkpoints.gguf_header import GgufHeader, read_gguf_header
from core.errors import UnsupportedModelError

_PLAIN = ("F32", "F16", "BF16")


def inspect_gguf(file: Path) -> CheckpointFacts:
    """Return what the GGUF ``file`` is.

    Raises:
        ModelLoadError: if it is no GGUF file, damaged or cut short.
        UnsupportedModelError: if it is whole but cannot be decoded here.
    """
    header = read_gguf_header(file)
    _check(file.name, header)
    kind = header.main_type()
    embedding = header.shapes.get("token_embd.weight", (0, 0))
    head = header.shapes.get("output.weight", embedding)
    return CheckpointFacts(
        kind=CheckpointKind.GGUF,
        reference=str(file),
        name=file.stem,
        path=str(file),
        architecture=header.architecture,
        num_parameters=sum(math.prod(shape) for shape in header.shapes.values()),
        num_layers=_whole(header.hyper("block_count")),
        hidden_size=_whole(header.hyper("embedding_length")),
        vocabulary_size=head[-1] if head else 0,
        tokenizer_size=_whole(header.metadata.get("tokenizer.ggml.tokens")),
        context_length=_whole(header.hyper("context_length")) or NO_LIMIT,
        dtype=kind,
        size_bytes=file.stat().st_size,
        cache_values_per_token=_cache_values(header),
        has_chat_template=bool(header.metadata.get("tokenizer.chat_template")),
        licence=str(header.metadata.get("general.license", "")),
        plain_only=unrewindable_gguf(header.architecture),
        quantization="" if kind in _PLAIN else kind,
    )


def _check(name: str, header: GgufHeader) -> None:
    if _whole(header.metadata.get("split.count")) > 1:
        raise UnsupportedModelError(
            f"The file {name} is one part of a split GGUF model; merge the parts into "
            "one file first.",
            file=name,
        )
    check_gguf(name, header.architecture)
    if not header.metadata.get("tokenizer.ggml.tokens"):
        raise UnsupportedModelError(
            f"The file {name} has no tokenizer; use a GGUF file that has one.",
            file=name,
        )


def _cache_values(header: GgufHeader) -> int:
    heads = _whole(header.hyper("attention.head_count"))
    kv_heads = _whole(header.hyper("attention.head_count_kv")) or heads
    default = _whole(header.hyper("embedding_length")) // heads if heads else 0
    key = _whole(header.hyper("attention.key_length")) or default
    value = _whole(header.hyper("attention.value_length")) or default
    return _whole(header.hyper("block_count")) * kv_heads * (key + value)


def _whole(value: object) -> int:
    """Return a number of the header; the largest where it lists one per layer."""
    if isinstance(value, tuple):
        return max((v for v in value if isinstance(v, int)), default=0)
    return value if isinstance(value, int) else 0
