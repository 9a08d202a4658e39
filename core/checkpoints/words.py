"""Facts of checkpoints as people read them."""

from __future__ import annotations

from core.checkpoints.facts import CheckpointFacts, CheckpointKind
from core.checkpoints.folder_inspection import NO_LIMIT
from core.checkpoints.memory import weight_bytes
from core.checkpoints.plain_only import PLAIN_ONLY
from core.checkpoints.progress import megabytes


def parameters(number: int) -> str:
    """Return a number of parameters, for example ``135 M`` or ``7.2 B``."""
    for size, unit in ((1e9, "B"), (1e6, "M"), (1e3, "K")):
        if number >= size:
            digits = 1 if number < 10 * size else 0
            return f"{number / size:.{digits}f} {unit}"
    return str(number)


def size_ratio(ratio: float) -> str:
    """Return a draft's size over the target's, to stand before a possessive."""
    if ratio > 2:
        return f"{ratio:,.0f} times"
    return f"{100 * ratio:.{1 if ratio < 0.1 else 0}f} % of"


def table(facts: CheckpointFacts) -> tuple[tuple[str, str], ...]:
    """Return everything that is known of a checkpoint as (name, value) rows."""
    if facts.problem:
        return ()
    context = f"{facts.context_length:,} tokens"
    return (
        ("Architecture", facts.architecture),
        (
            "Parameters",
            f"{parameters(facts.num_parameters)} ({facts.num_parameters:,})",
        ),
        ("Layers", f"{facts.num_layers}"),
        ("Width", f"{facts.hidden_size:,}"),
        ("Vocabulary", _vocabulary(facts)),
        ("Context", "no limit" if facts.context_length == NO_LIMIT else context),
        ("Stored as", stored(facts)),
        ("Size on disk", megabytes(facts.size_bytes)),
        ("In memory", in_memory(facts)),
        ("Licence", facts.licence or "not stated"),
        ("Decoding", _decoding(facts)),
        ("Chat template", "yes" if facts.has_chat_template else "no"),
    )


def _decoding(facts: CheckpointFacts) -> str:
    if facts.plain_only:
        return f"{PLAIN_ONLY}: {facts.plain_only} layers cannot be rewound"
    return "speculative and plain"


def stored(facts: CheckpointFacts) -> str:
    """Return the numbers that the weights are stored in, and how they are packed."""
    packed = facts.quantization not in ("", facts.dtype)
    return f"{facts.dtype}, {facts.quantization}" if packed else facts.dtype


def in_memory(facts: CheckpointFacts) -> str:
    """Say what the weights take, and that a packed file is unpacked for it."""
    if facts.kind is CheckpointKind.GGUF and facts.quantization:
        cost = megabytes(weight_bytes(facts, "float32"))
        return f"{cost} in float32, half in 16 bits: it is unpacked when loaded"
    wide, half = (megabytes(weight_bytes(facts, d)) for d in ("float32", "bfloat16"))
    return wide if wide == half else f"{wide} in float32, {half} in 16 bits"


def _vocabulary(facts: CheckpointFacts) -> str:
    tokens = f"{facts.tokenizer_size:,} tokens"
    padding = facts.vocabulary_size - facts.tokenizer_size
    return f"{tokens}, {padding:,} rows of padding" if padding > 0 else tokens
