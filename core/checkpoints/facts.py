"""What a checkpoint is, in plain values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class CheckpointKind(StrEnum):
    """Where a checkpoint lies."""

    FOLDER = "folder"
    GGUF = "gguf"
    HUB = "hub"
    DEMO = "demo"


@dataclass(frozen=True, slots=True)
class CheckpointFacts:
    """What a checkpoint is, read from its headers only.

    Attributes:
        kind: folder, GGUF file, hub id or demo.
        reference: what was asked for; loading takes the same.
        name: short name for people.
        path: the folder or file on this machine, or an empty string.
        architecture: the model type, for example ``llama``.
        num_parameters: numbers stored in the weights.
        num_layers: decoder layers.
        hidden_size: width of the residual stream.
        vocabulary_size: rows of the output head.
        tokenizer_size: ids that the tokenizer knows.
        context_length: positions that the model was made for.
        dtype: in which most of the weights are stored.
        size_bytes: of the weight files.
        cache_values_per_token: keys and values of all layers for one token.
        has_chat_template: the tokenizer can wrap a conversation.
        licence: as the model card or the file names it, or an empty string.
        quantization: how the stored weights are packed, or an empty string.
        tokenizer_path: folder of its tokenizer where that lies elsewhere.
        draft_head_size: ids that its head is cut to where it drafts; 0 for all.
        plain_only: the kind of its layers that cannot be rewound, so that it decodes
            without a drafter only; empty where all can.
        problem: one sentence why it cannot be used, or None.
    """

    kind: CheckpointKind
    reference: str
    name: str
    path: str = ""
    architecture: str = ""
    num_parameters: int = 0
    num_layers: int = 0
    hidden_size: int = 0
    vocabulary_size: int = 0
    tokenizer_size: int = 0
    context_length: int = 0
    dtype: str = ""
    size_bytes: int = 0
    cache_values_per_token: int = 0
    has_chat_template: bool = False
    licence: str = ""
    quantization: str = ""
    tokenizer_path: str = ""
    draft_head_size: int = 0
    plain_only: str = ""
    problem: str | None = None
