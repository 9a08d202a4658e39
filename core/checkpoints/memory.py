"""How much memory a pair needs, told before anything is loaded."""

from __future__ import annotations

from dataclasses import dataclass

from core.checkpoints.facts import CheckpointFacts, CheckpointKind
from core.checkpoints.progress import megabytes
from core.errors import DeviceMemoryError
from core.runtime.slot_sizes import GRAPH_BYTES, slot_rows, slot_tokens

_SIZES = {"float32": 4, "bfloat16": 2, "float16": 2, "int8": 1}
# Formats that transformers keeps packed; GGUF is unpacked at load.
_STAYS_PACKED = ("bitsandbytes", "gptq", "awq", "fp8", "mxfp4", "compressed-tensors")
_GPU_SCRATCH = 512 << 20  # a rough allowance for the libraries
# What five pairs took on a CPU beside weights, caches and logits: see
# tests/core/checkpoints/test_memory_measured.py.
_CPU_SCRATCH = 32 << 20
_TOKENIZER_BYTES = 450  # for each token, its merge and its place in the tables
_HEAD_COPIES = 2  # below float32 oneDNN keeps the head re-ordered for numbers of rows


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """What a pair takes on its device.

    Attributes:
        weights_bytes: of target and draft.
        cache_bytes: of every cache: a race keeps two of the target's.
        logits_bytes: of the rows that one round looks at, in float32.
        scratch_bytes: working space: tokenizers; on a GPU the libraries' and captured
            graphs; on a CPU activations, and below float32 copies of the output head.
        total_bytes: the sum.
        free_bytes: free on the device when asked, or 0 if not known.
    """

    weights_bytes: int
    cache_bytes: int
    logits_bytes: int
    scratch_bytes: int
    total_bytes: int
    free_bytes: int

    @property
    def fits(self) -> bool:
        """Whether it fits, as far as is known."""
        return not self.free_bytes or self.total_bytes <= self.free_bytes


def estimate(
    target: CheckpointFacts,
    draft: CheckpointFacts | None,
    *,
    capacity: int,
    lookahead: int,
    racing: bool,
    device: str = "cpu",
    dtype: str = "float32",
    draft_dtype: str | None = None,
) -> MemoryEstimate:
    """Return what the pair would take, from headers only.

    Args:
        target: the target's facts.
        draft: the draft's facts, or None for lookup and plain decoding.
        capacity: tokens that each cache holds.
        lookahead: K.
        racing: the plain lane runs beside the speculative one.
        device: where it would run; ``auto`` and ``cuda`` need torch to be loaded to
            know the free memory.
        dtype: of weights and caches; ``auto`` follows the device.
        draft_dtype: of the draft, if another.
    """
    own = _resolve(dtype, device)
    other = _resolve(draft_dtype or dtype, device)
    weights = weight_bytes(target, own)
    lanes, on_gpu = 2 if racing else 1, _on_gpu(device)
    caches = lanes * _cache_bytes(target, capacity, own, on_gpu)
    logits = _logits_bytes(target, draft, lookahead)
    if draft is not None:
        weights += weight_bytes(draft, other) + _sliced_head_bytes(draft, other)
        caches += _cache_bytes(draft, capacity, other, on_gpu)
    scratch = _scratch_bytes(target, own, device)
    if draft is not None:
        scratch += _side_bytes(draft, other, device)
    if on_gpu:
        scratch += GRAPH_BYTES * (lanes + (draft is not None))
    total = weights + caches + logits + scratch
    return MemoryEstimate(weights, caches, logits, scratch, total, _free(device))


def weight_bytes(facts: CheckpointFacts, dtype: str) -> int:
    """Return the memory of a checkpoint's weights in ``dtype``."""
    if facts.quantization in _STAYS_PACKED:
        return facts.size_bytes
    return facts.num_parameters * _SIZES[dtype]


def _sliced_head_bytes(draft: CheckpointFacts, dtype: str) -> int:
    """Return the copy of a head's rows; as a rule the whole matrix is the embedding."""
    return draft.draft_head_size * draft.hidden_size * _SIZES[dtype]


def stays_mapped(facts: CheckpointFacts, dtype: str) -> bool:
    """Return whether the weights are used where they lie in the mapped file.

    On a CPU safetensors are not copied, unless they are converted to another dtype.
    """
    return facts.kind is not CheckpointKind.GGUF and facts.dtype == dtype


def require_room(facts: CheckpointFacts, dtype: str, device: str, free: int) -> None:
    """Check before loading that the weights fit.

    Raises:
        DeviceMemoryError: naming the bytes needed and free.
    """
    needed = weight_bytes(facts, dtype)
    if needed > free:
        raise no_room(facts.name, device, needed, free)


def no_room(name: str, device: str, needed: int, free: int) -> DeviceMemoryError:
    """Return the error that says that a model does not fit."""
    return DeviceMemoryError(
        f"The model {name} needs {megabytes(needed)} on {device} and {megabytes(free)} "
        "are free; choose a smaller model or dtype, or close other programs.",
        needed=needed,
        free=free,
    )


def require_cache_room(name: str, device: str, needed: int, tokens: int) -> None:
    """Check before a run that its caches fit.

    An allocation that is too large does not fail by itself where the system lends more
    memory than it has; the process is killed once the pages are written.

    Raises:
        DeviceMemoryError: naming the bytes needed and free.
    """
    from core.checkpoints.devices import free_bytes

    free = free_bytes(device)
    if needed > free:
        raise DeviceMemoryError(
            f"The caches for {tokens:,} tokens of {name} need {megabytes(needed)} on "
            f"{device} and {megabytes(free)} are free; shorten the prompt, ask for "
            "fewer new tokens, or close other programs.",
            needed=needed,
            free=free,
            tokens=tokens,
        )


def _cache_bytes(
    facts: CheckpointFacts, capacity: int, dtype: str, on_gpu: bool
) -> int:
    if on_gpu:  # caches have a few sizes there, which steps are recorded over
        context = facts.context_length or capacity
        capacity = slot_rows(slot_tokens(capacity, context))
    return facts.cache_values_per_token * capacity * _SIZES[dtype]


def _logits_bytes(
    target: CheckpointFacts, draft: CheckpointFacts | None, lookahead: int
) -> int:
    """K + 1 rows of the target and K of the draft: raw, warped and their residual."""
    rows = (lookahead + 1) * target.vocabulary_size
    if draft is not None:
        rows += lookahead * draft.vocabulary_size
    return 3 * 4 * rows


def _scratch_bytes(target: CheckpointFacts, dtype: str, device: str) -> int:
    shared = _GPU_SCRATCH if _on_gpu(device) else _CPU_SCRATCH
    return shared + _side_bytes(target, dtype, device)


def _side_bytes(facts: CheckpointFacts, dtype: str, device: str) -> int:
    """Return the working space that one model asks for by its size."""
    tokenizer = _TOKENIZER_BYTES * facts.tokenizer_size
    if _on_gpu(device) or dtype == "float32":
        return tokenizer
    head = facts.vocabulary_size * facts.hidden_size * _SIZES[dtype]
    return tokenizer + _HEAD_COPIES * head


def _resolve(dtype: str, device: str) -> str:
    if dtype in _SIZES:
        return dtype
    return "bfloat16" if _on_gpu(device) else "float32"


def _on_gpu(device: str) -> bool:
    return device.startswith("cuda") or (device == "auto" and _cuda_here())


def _cuda_here() -> bool:
    """Ask torch only if somebody loaded it; this must stay quick for the window."""
    import sys

    # Another thread may be in the middle of importing torch: then it has no cuda yet.
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    available = getattr(cuda, "is_available", None)
    return bool(available and available())


def _free(device: str) -> int:
    from core.checkpoints.devices import free_bytes

    if _on_gpu(device):
        return free_bytes(device if ":" in device else "cuda:0") if _cuda_here() else 0
    return free_bytes("cpu")
