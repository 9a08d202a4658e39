"""Where a model can run here, and in which numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.config import ModelConfig
from core.errors import ConfigurationError

if TYPE_CHECKING:
    import torch

DTYPES = ("float32", "bfloat16", "float16")
EIGHT_BITS = "int8"  # untested: no GPU was at hand
ALL_GPUS = "cuda:all"  # untested: layers spread over every GPU, and the CPU if need be


@dataclass(frozen=True, slots=True)
class Placement:
    """A device and a dtype that exist on this machine.

    Attributes:
        device: ``cpu``, ``cuda:0``, ``mps``.
        dtype: ``float32``, ``bfloat16``, ``float16``, or ``int8`` for weights that
            bitsandbytes packs.
        spread: the layers are spread over several devices; ``device`` has the first.
    """

    device: str
    dtype: str
    spread: bool = False

    @property
    def torch_dtype(self) -> torch.dtype:
        """The dtype that is computed in, as torch spells it."""
        import torch

        name = "bfloat16" if self.dtype == EIGHT_BITS else self.dtype
        return getattr(torch, name)

    @property
    def bytes_per_value(self) -> int:
        """Bytes of one number."""
        return {"float32": 4, EIGHT_BITS: 1}.get(self.dtype, 2)


def place(config: ModelConfig) -> Placement:
    """Return where and how ``config`` runs on this machine.

    Raises:
        ConfigurationError: for a device or dtype that is not there.
    """
    asked = config.device.strip().lower()
    spread = asked == ALL_GPUS
    device = _first_of_all() if spread else _device(asked)
    return Placement(device, _dtype(config.dtype.strip().lower(), device), spread)


def free_bytes(device: str) -> int:
    """Return the memory that is free on ``device``, which may be ``ALL_GPUS``."""
    if device == ALL_GPUS:
        import torch

        return sum(free_bytes(f"cuda:{i}") for i in range(torch.cuda.device_count()))
    if device.startswith("cuda"):
        import torch

        # What torch holds and nobody uses is free to us, if not to other programs.
        held = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(torch.cuda.mem_get_info(device)[0]) + held
    import psutil

    return int(psutil.virtual_memory().available)


def _device(asked: str) -> str:
    import torch

    if asked == "auto":
        return "cuda:0" if torch.cuda.is_available() else "cpu"
    if asked == "cpu":
        return asked
    if asked == "mps" and torch.backends.mps.is_available():
        return asked
    kind, _, index = asked.partition(":")
    if kind != "cuda" or not (index.isdecimal() or index == asked[5:] == ""):
        raise _no_device(asked, "choose auto, cpu, cuda or cuda:N")
    if not torch.cuda.is_available():
        raise _no_device(asked, "choose cpu, or install a torch that knows your GPU")
    number, count = int(index or 0), torch.cuda.device_count()
    if number >= count:
        raise _no_device(asked, f"choose a number below {count}")
    return f"cuda:{number}"


def _first_of_all() -> str:
    """Return the first of several GPUs."""
    import torch

    count = torch.cuda.device_count()
    if count < 2:
        raise _no_device(ALL_GPUS, f"it takes two GPUs or more and there are {count}")
    return "cuda:0"


def _eight_bits(device: str) -> str:
    import importlib.util

    cure = ""
    if not device.startswith("cuda"):
        cure = f"runs on CUDA only and the device is {device}; choose float32"
    elif importlib.util.find_spec("bitsandbytes") is None:
        cure = "needs the package bitsandbytes; install it"
    if cure:
        raise ConfigurationError(
            f"The dtype {EIGHT_BITS} {cure}.", setting="dtype", value=EIGHT_BITS
        )
    return EIGHT_BITS


def _dtype(asked: str, device: str) -> str:
    if asked == EIGHT_BITS:
        return _eight_bits(device)
    if asked != "auto" and asked not in DTYPES:
        raise ConfigurationError(
            f"The dtype {asked} is not known; choose auto, {', '.join(DTYPES)}, "
            f"or {EIGHT_BITS} on CUDA.",
            setting="dtype",
            value=asked,
        )
    if not device.startswith("cuda"):
        return "float32" if asked == "auto" else asked
    return _cuda_dtype(asked, device)


def _cuda_dtype(asked: str, device: str) -> str:
    import torch

    has_bfloat16 = torch.cuda.get_device_capability(device) >= (8, 0)
    if asked == "auto":
        return "bfloat16" if has_bfloat16 else "float16"
    if asked == "bfloat16" and not has_bfloat16:
        raise ConfigurationError(
            f"The dtype bfloat16 does not run well on {device}; choose float16.",
            setting="dtype",
            value=asked,
        )
    return asked


def _no_device(asked: str, cure: str) -> ConfigurationError:
    return ConfigurationError(
        f"The device {asked or 'without a name'} is not on this machine; {cure}.",
        setting="device",
        value=asked,
    )
