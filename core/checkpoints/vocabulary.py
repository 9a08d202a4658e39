"""The tokens of a checkpoint, read from its files without loading its weights."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.checkpoints.gguf_header import read_gguf_header
from core.checkpoints.names import label
from core.errors import ModelLoadError

_GGUF_TOKENS = "tokenizer.ggml.tokens"
_GGUF_TYPES = "tokenizer.ggml.token_type"
_CONTROL = 3


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What every id stands for.

    Attributes:
        tokens: the token's own spelling, by id.
        special: ids of control tokens (end of text, turn marks and the like).
    """

    tokens: dict[int, str]
    special: frozenset[int]

    @property
    def size(self) -> int:
        """One more than the highest id; ids between may be unused."""
        return max(self.tokens, default=-1) + 1


@dataclass(frozen=True, slots=True)
class FileVersion:
    """A checkpoint's vocabulary file as it is on the disk right now.

    Whatever is remembered about a vocabulary is remembered under this, so that nothing
    outlives a change of the file. The change time cannot be set back by a copy.
    """

    path: Path
    source: Path
    inode: int
    size: int
    modified_ns: int
    changed_ns: int


def version_of(path: Path) -> FileVersion:
    """Return the present version of the vocabulary of a folder or GGUF file.

    Raises:
        ModelLoadError: if it has none.
    """
    source = path if path.is_file() else _source(path)
    status = source.stat()
    return FileVersion(
        path,
        source,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )


def read_vocabulary(path: Path) -> Vocabulary:
    """Return the vocabulary of a checkpoint folder or a GGUF file.

    Raises:
        ModelLoadError: if it has none, or one that cannot be read.
    """
    return read(version_of(path))


def tokenizer_size(path: Path) -> int:
    """Return how many ids the tokenizer of a checkpoint folder knows.

    Raises:
        ModelLoadError: if it has none, or one that cannot be read.
    """
    return _size(version_of(path))


def read_json(file: Path) -> Any:
    """Return the content of a JSON file of a checkpoint.

    Raises:
        ModelLoadError: if it is empty or broken.
    """
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        what = "empty" if file.is_file() and not file.stat().st_size else "broken"
        raise ModelLoadError(
            f"The file {file.name} of {label(file.parent)} is {what}; copy or download "
            "it again.",
            file=file.name,
        ) from error


def _source(folder: Path) -> Path:
    """Return the file that the vocabulary of ``folder`` is read from."""
    for name in ("tokenizer.json", "tokenizer.model", "vocab.json"):
        if (folder / name).is_file():
            return folder / name
    raise ModelLoadError(
        f"The checkpoint {label(folder)} has no tokenizer; copy tokenizer.json of the "
        "original model into it.",
        path=str(folder),
    )


@functools.lru_cache(maxsize=256)
def _size(version: FileVersion) -> int:
    return read(version).size


@functools.lru_cache(maxsize=4)  # a vocabulary takes tens of megabytes
def read(version: FileVersion) -> Vocabulary:
    """Return the vocabulary of a version of a file, read once.

    Raises:
        ModelLoadError: if it cannot be read.
    """
    path, source = version.path, version.source
    if source.suffix == ".gguf":
        return _from_gguf(source)
    try:
        if source.name == "tokenizer.json":
            return _from_tokenizer_json(read_json(source))
        if source.name == "vocab.json":
            tokens = {i: t for t, i in read_json(source).items()}
        else:
            tokens = _from_sentencepiece(source)
        return _with_added(tokens, path)
    except (AttributeError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise ModelLoadError(
            f"The tokenizer {source.name} of {label(path)} cannot be read; copy or "
            "download it again.",
            detail=str(error),
        ) from error


def _from_gguf(file: Path) -> Vocabulary:
    metadata = read_gguf_header(file, keep=(_GGUF_TOKENS,)).metadata
    tokens = metadata.get(_GGUF_TOKENS)
    if not isinstance(tokens, tuple) or not tokens:
        raise ModelLoadError(
            f"The file {file.name} has no tokenizer; use a GGUF file that has one.",
            file=file.name,
        )
    kinds = metadata.get(_GGUF_TYPES, ())
    special = frozenset(i for i, kind in enumerate(kinds) if kind == _CONTROL)
    return Vocabulary(dict(enumerate(tokens)), special)


def _from_tokenizer_json(content: dict[str, Any]) -> Vocabulary:
    vocab = content["model"]["vocab"]
    if isinstance(vocab, dict):
        tokens = {i: token for token, i in vocab.items()}
    else:  # Unigram: a list of (token, score)
        tokens = {i: entry[0] for i, entry in enumerate(vocab)}
    added = content.get("added_tokens") or []
    tokens.update({entry["id"]: entry["content"] for entry in added})
    special = frozenset(entry["id"] for entry in added if entry.get("special"))
    return Vocabulary(tokens, special)


def _from_sentencepiece(file: Path) -> dict[int, str]:
    from sentencepiece import SentencePieceProcessor

    model = SentencePieceProcessor(model_file=str(file))
    return {i: model.id_to_piece(i) for i in range(model.get_piece_size())}


def _with_added(tokens: dict[int, str], folder: Path) -> Vocabulary:
    """Add what the older layout keeps beside the vocabulary."""
    added, special = folder / "added_tokens.json", set()
    if added.is_file():
        tokens.update({i: token for token, i in read_json(added).items()})
    config = folder / "tokenizer_config.json"
    decoder = (
        read_json(config).get("added_tokens_decoder") if config.is_file() else None
    )
    for key, entry in (decoder or {}).items():
        tokens[int(key)] = entry["content"]
        if entry.get("special"):
            special.add(int(key))
    return Vocabulary(tokens, frozenset(special))
